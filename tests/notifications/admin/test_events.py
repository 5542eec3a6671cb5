from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from config.admin_base import lists
from notifications.models import Event
from tests.notifications.recorded_events import record_numbered_events
from tests.staff import signed_in

LIST = "/admin/notifications/event/"


@pytest.fixture
def viewer(db: None) -> Client:
    return signed_in("viewer")


def ids_on(page: Any) -> set[int]:
    return {event.pk for event in page.context["cl"].result_list}


@pytest.mark.embedded
class TestList:
    def test_shows_the_newest_first(self, viewer: Client) -> None:
        events = record_numbered_events(3)
        shown = [event.pk for event in viewer.get(LIST).context["cl"].result_list]
        assert shown == sorted((event.pk for event in events), reverse=True)

    def test_counts_no_further_than_its_bound(self, viewer: Client, django_assert_max_num_queries: Any) -> None:
        record_numbered_events(120)
        with django_assert_max_num_queries(11) as captured:
            page = viewer.get(LIST)
        assert len(page.context["cl"].result_list) == 50
        assert "1–50 of 120" in page.content.decode()
        counts = [query["sql"] for query in captured.captured_queries if "COUNT(" in query["sql"]]
        assert all("LIMIT 10001" in sql or "LIMIT 100)" in sql for sql in counts)

    def test_a_page_past_the_end_is_empty(self, viewer: Client) -> None:
        record_numbered_events(1)
        assert viewer.get(LIST, {"p": "7"}).status_code == 200

    def test_a_long_one_is_not_sorted_by_columns_without_an_index(
        self, viewer: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        record_numbered_events(3)
        monkeypatch.setattr(lists, "MOST_COUNTED", 2)
        page = viewer.get(LIST, {"o": "2"})
        shown = [event.pk for event in page.context["cl"].result_list]
        assert shown == sorted(shown, reverse=True)
        assert "cannot be sorted by this column" in page.content.decode()

    def test_filters_by_type(self, viewer: Client) -> None:
        record_numbered_events(1)
        wanted = record_numbered_events(1, type="test.wanted")
        assert ids_on(viewer.get(LIST, {"type": "test.wanted"})) == {wanted[0].pk}

    def test_says_what_happened_with_the_type_as_a_hint(self, viewer: Client) -> None:
        for number in (1, 0):
            record_numbered_events(1, type="sensor.state_changed", payload={"data": number, "address": "x" * 5000})
        page = viewer.get(LIST).content.decode()
        for word in ("opened", "closed"):
            assert f'<span title="sensor.state_changed">Door {word}</span>' in page
        assert "xxxx" not in page, "a payload of any length is not read by the list"

    def test_the_filter_offers_the_known_types_in_words(self, viewer: Client) -> None:
        page = viewer.get(LIST, {"type": "custom.rare"}).content.decode()
        for part in ("Door opened or closed", "Connection lost", "custom.rare"):
            assert part in page

    def test_a_type_is_looked_for_in_the_last_day(self, viewer: Client) -> None:
        old = record_numbered_events(1, type="test.wanted")
        Event.objects.filter(pk=old[0].pk).update(recorded_at=timezone.now() - timedelta(hours=25))
        assert ids_on(viewer.get(LIST, {"type": "test.wanted"})) == set()

    def test_finds_a_subject_by_its_exact_name(self, viewer: Client) -> None:
        wanted = record_numbered_events(1, subject="sensor:0xA")
        record_numbered_events(1, subject="sensor:0xAB")
        assert ids_on(viewer.get(LIST, {"q": "sensor:0xA"})) == {wanted[0].pk}


@pytest.mark.embedded
class TestPage:
    def test_shows_the_payload(self, viewer: Client) -> None:
        event = record_numbered_events(1)[0]
        assert "&quot;n&quot;: 1" in viewer.get(f"{LIST}{event.pk}/change/").content.decode()

    def test_hostile_payloads_are_text(self, viewer: Client) -> None:
        event = record_numbered_events(1)[0]
        Event.objects.filter(pk=event.pk).update(payload={"x": "<script>alert(1)</script>"})
        assert "<script>alert" not in viewer.get(f"{LIST}{event.pk}/change/").content.decode()

    def test_is_never_edited(self, viewer: Client) -> None:
        event = record_numbered_events(1)[0]
        assert viewer.post(f"{LIST}{event.pk}/change/", {"type": "x"}).status_code == 403
