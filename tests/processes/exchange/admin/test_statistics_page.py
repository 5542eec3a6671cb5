from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from messaging.models import Message
from processes.exchange.admin.chart import HEIGHT, draw_bars
from processes.exchange.statistics import Bucket
from tests.processes.exchange.outcomes import put_into_error
from tests.processes.exchange.scene import Scene
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

PAGE = "/admin/exchange/exchangeprocess/statistics/"
START = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.fixture
def viewer() -> Client:
    return signed_in("viewer")


def rows(browser: Client, **query: str) -> list[tuple[str, int]]:
    page = browser.get(PAGE, query).context["page"]
    return [(row.figures["id"], row.figures["sent"]) for row in page.rows]


class TestPage:
    def test_the_largest_stand_first(self, scene: Scene, viewer: Client) -> None:
        scene.send("m1")
        other = Scene("other")
        for id in ("m1", "m2"):
            other.send(id)
        assert rows(viewer, by="device") == [("other-phone", 2), ("acme-phone", 1)]
        assert rows(viewer, by="enterprise") == [("other", 2), ("acme", 1)]

    def test_shows_the_chosen_period(self, scene: Scene, viewer: Client) -> None:
        scene.send()
        Message.objects.update(accepted_at=timezone.now() - timedelta(days=8))
        assert rows(viewer, period="7d") == []
        assert rows(viewer, period="30d") == [("acme-erp", 1)]
        assert rows(viewer, period="nonsense", by="nonsense") == []

    def test_draws_one_party_or_all_together(self, scene: Scene, viewer: Client) -> None:
        put_into_error(scene)
        Scene("other").send("m1")
        together = viewer.get(PAGE).context["page"]
        assert (together.whole.figures["sent"], together.whole.figures["incorrect"]) == (2, 1)
        assert {bar.kind for bar in together.chart.bars} == {"sent", "incorrect"}
        alone = viewer.get(PAGE, {"id": "other-erp"}).context["page"]
        assert alone.chosen.figures["sent"] == 1
        assert {bar.kind for bar in alone.chart.bars} == {"sent"}

    def test_an_unknown_party_is_all_together(self, scene: Scene, viewer: Client) -> None:
        scene.send()
        assert viewer.get(PAGE, {"id": "<script>"}).context["page"].chosen is None

    def test_says_when_there_is_nothing(self, viewer: Client) -> None:
        assert "No exchange in this period." in viewer.get(PAGE).content.decode()

    def test_costs_the_same_for_many(self, scene: Scene, viewer: Client, django_assert_max_num_queries: Any) -> None:
        viewer.get(PAGE)
        for name in ("a", "b", "c"):
            Scene(name).send()
            with django_assert_max_num_queries(17):
                viewer.get(PAGE)


class TestDrawBars:
    def test_bars_stand_side_by_side_and_on_each_other(self) -> None:
        chart = draw_bars([Bucket(START, sent=4, processed=1, incorrect=3), Bucket(START)], START + timedelta(hours=2))
        sent, processed, incorrect = chart.bars
        assert (sent.top, sent.height) == (0, HEIGHT)
        assert processed.left == incorrect.left == sent.left + sent.width
        assert (processed.top, processed.height) == (135, 45)
        assert (incorrect.top, incorrect.height) == (0, 135)

    def test_nothing_is_an_empty_chart(self) -> None:
        chart = draw_bars([Bucket(START)], START + timedelta(days=1))
        assert (chart.bars, chart.highest, len(chart.ticks)) == ([], 0, 7)
