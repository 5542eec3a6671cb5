import csv
import html
import io
import itertools
import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Permission, User
from django.test import AsyncClient
from django.test import Client as Browser
from django.utils import timezone
from msgspec.structs import replace

from config.common.times import format_time, to_milliseconds
from sensors.admin import history_card
from sensors.history.database import DatabaseStore, store_in_transaction
from sensors.history.errors import HistoryAway
from sensors.history.store import get_store
from sensors.history.values import PastEvent
from sensors.ingest.apply import apply_signals
from sensors.ingest.signals import Signal
from sensors.models import Client, OpenDoor, SensorState
from tests.sensors.history.past_records import attempt
from tests.sensors.registry import hear, link, make_client, make_sensor
from tests.staff import signed_in

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]

SENSOR = "/admin/sensors/sensor/0xA/change/"


@pytest.fixture
def browser() -> Browser:
    hear()
    return signed_in("operator")


def ago(**span: float) -> datetime:
    return timezone.now() - timedelta(**span)


def send(*hours: float, sensor: str = "0xA") -> None:
    """Let a sensor open and close in turn, so many hours ago."""
    times = [to_milliseconds(ago(hours=back)) for back in hours]
    signals = [Signal(sensor, at, f"{sensor}-{n}", (n + 1) % 2, at) for n, at in enumerate(times)]
    apply_signals(signals, also=store_in_transaction)


def sent_attempt() -> PastEvent:
    """An attempt to notify that was made an hour ago."""
    return replace(attempt(1, at=to_milliseconds(ago(hours=1))), id=10_000)


def shown(browser: Browser, query: str = "", page: str = SENSOR) -> Any:
    return browser.get(f"{page}?{query}").context["page"].history


def rows_of(browser: Browser, query: str = "", page: str = SENSOR) -> list[tuple[str, str, str]]:
    return [(row.kind.value, row.sensor_id, row.what) for row in shown(browser, query, page).rows]


class TestPeriod:
    @pytest.mark.parametrize(("asked", "kept"), [("7d", "7d"), ("30d", "30d"), ("1000y", "24h"), ("", "24h")])
    def test_a_preset_ends_now(self, browser: Browser, asked: str, kept: str) -> None:
        make_sensor()
        assert shown(browser, f"period={asked}").shown.preset == kept

    def test_any_other_is_shown_from_end_to_end(self, browser: Browser) -> None:
        make_sensor()
        send(50, 40, 30)
        period = f"from={format_time(ago(hours=45))}&to={format_time(ago(hours=35))}"
        history = shown(browser, period)
        assert [row.what for row in history.rows] == ["closed", "Door closed"]
        assert [bar.kind for bar in history.chart.bars] == ["open", "closed"]

    def test_a_time_without_an_offset_is_that_of_the_reader(self, browser: Browser) -> None:
        make_sensor()
        assert shown(browser, "from=2026-01-01T10:00&to=2026-01-01T11:00").shown.length == timedelta(hours=1)

    @pytest.mark.parametrize(
        "asked",
        ["from=x", "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z", "to=9999999", "from=2019-01-01&to=2019-02-01"],
    )
    def test_a_wrong_one_is_named_and_the_last_day_is_shown(self, browser: Browser, asked: str) -> None:
        make_sensor()
        history = shown(browser, asked)
        assert history.error
        assert history.shown.preset == "24h"

    def test_leads_to_earlier_shorter_and_longer_ones(self, browser: Browser) -> None:
        make_sensor()
        moves = {move.name: move for move in shown(browser).moves}
        assert list(moves) == ["Earlier", "Zoom in", "Zoom out"], "nothing is later than now"
        lengths = {name: shown(browser, move.query).shown.length for name, move in moves.items()}
        day = timedelta(days=1)
        assert lengths == {"Earlier": day, "Zoom in": day / 2, "Zoom out": 2 * day}

    def test_its_parts_lie_side_by_side(self, browser: Browser) -> None:
        make_sensor()
        history = shown(browser)
        edges = [(part.start, part.end) for part in history.sections]
        assert (edges[0][0], edges[-1][1]) == (history.shown.start, history.shown.end)
        assert all(one[1] == two[0] for one, two in itertools.pairwise(edges))


class TestTable:
    def test_has_signals_events_and_notifications_newest_first(self, browser: Browser) -> None:
        make_sensor()
        send(3, 2)
        get_store().add_events([sent_attempt()])
        assert rows_of(browser) == [
            ("notification", "0xA", "Door opened or closed"),
            ("signal", "0xA", "closed"),
            ("event", "0xA", "Door closed"),
            ("signal", "0xA", "open"),
            ("event", "0xA", "Door opened"),
        ]

    @pytest.mark.parametrize(("show", "count"), [("signal", 2), ("event", 2), ("notification", 1), ("else", 5)])
    def test_shows_one_kind_alone(self, browser: Browser, show: str, count: int) -> None:
        make_sensor()
        send(3, 2)
        get_store().add_events([sent_attempt()])
        assert len(rows_of(browser, f"show={show}")) == count

    def test_says_why_an_attempt_failed_in_the_language_of_the_reader(self, browser: Browser) -> None:
        make_sensor()
        sent = sent_attempt()
        sent.payload.update({"status": None, "error": "no answer within 10 s"})
        get_store().add_events([sent])
        page = browser.get(SENSOR, headers={"accept-language": "ru"})
        assert "нет ответа за 10 с" in page.context["page"].history.rows[0].detail

    def test_names_the_client_that_was_notified(self, browser: Browser) -> None:
        make_sensor()
        sent = sent_attempt()
        sent.payload["endpoint"] = make_client("watch").endpoint_id
        get_store().add_events([sent])
        assert shown(browser).rows[0].what == "Door opened or closed → watch"

    def test_what_a_person_may_not_see_is_no_choice(self) -> None:
        make_sensor()
        send(3)
        hear()
        guest = User.objects.create_user("guest", is_staff=True)
        guest.user_permissions.add(Permission.objects.get(codename="view_sensor", content_type__app_label="sensors"))
        browser = Browser()
        browser.force_login(guest)
        assert [row.kind.value for row in shown(browser, "show=event").rows] == ["signal"]
        assert [tab.words for tab in shown(browser).tabs] == ["Everything", "Signals"]

    def test_page_by_page_each_row_comes_once(self, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(history_card, "ROWS", 3)
        make_sensor()
        send(*(10 - n / 10 for n in range(8)))
        found, query, pages = [], "", 0
        while True:
            history = shown(browser, query)
            found += [(row.at, row.kind, row.what) for row in history.rows]
            pages += 1
            if not history.older:
                break
            query = history.older
        assert (len(found), len(set(found)), pages) == (16, 16, 6)
        assert [at for at, _, _ in found] == sorted((at for at, _, _ in found), reverse=True)

    def test_a_cursor_that_is_not_ours_is_the_first_page(self, browser: Browser) -> None:
        make_sensor()
        send(3)
        assert len(rows_of(browser, "cursor=abc")) == 2

    def test_without_history_it_says_so(self, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
        def away(*args: Any, **named: Any) -> Any:
            raise HistoryAway

        for name in ("read_events", "read_signals", "read_last_events"):
            monkeypatch.setattr(DatabaseStore, name, away)
        make_sensor()
        text = browser.get(SENSOR).content.decode()
        assert "History is not available" in text
        assert "Nothing in this period" not in text
        assert browser.get(f"{SENSOR}?format=csv").status_code == 503

    def test_with_clickhouse_away_the_rest_of_the_page_is_there(self, browser: Browser, settings: Any) -> None:
        settings.CLICKHOUSE_URL = "clickhouse://127.0.0.1:1/none"
        make_sensor()
        text = browser.get(SENSOR).content.decode()
        assert "History is not available" in text
        assert 'name="address"' in signed_in("registrar", "rita").get(SENSOR).content.decode()
        assert "History is not available" in browser.get(SENSOR, {"at": format_time(timezone.now())}).content.decode()


class TestCsv:
    def read(self, browser: Browser, query: str, page: str = SENSOR) -> list[dict[str, str]]:
        """Read the file as the person reads it whom `browser` is signed in for."""

        caller = AsyncClient()
        caller.cookies = browser.cookies

        async def fetch() -> str:
            answer: Any = await caller.get(f"{page}?{query}")
            assert answer["Content-Type"].startswith("text/csv")
            return b"".join([piece async for piece in answer]).decode()

        return list(csv.DictReader(io.StringIO(async_to_sync(fetch)())))

    def test_has_exactly_what_the_page_shows(self, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(history_card, "ROWS", 2)
        make_sensor()
        send(30, 3, 2, 1)
        history = shown(browser, "show=event")
        table, query = list(history.rows), history.older
        while query:
            further = shown(browser, query)
            table, query = table + further.rows, further.older
        file = self.read(browser, history.csv)
        assert [(row["at"], row["what"], row["type"]) for row in file] == [
            (row.cells()[0], row.what, row.type) for row in table
        ]
        assert len(file) == 3

    def test_is_linked_from_the_page(self, browser: Browser) -> None:
        make_sensor()
        send(1)
        text = browser.get(f"{SENSOR}?show=signal").content.decode()
        (address,) = re.findall(r'href="\?([^"]*format=csv[^"]*)"', text)
        assert [row["kind"] for row in self.read(browser, html.unescape(address))] == ["signal"]

    def test_is_only_for_those_who_may_see_the_page(self) -> None:
        make_sensor()
        assert Browser().get(f"{SENSOR}?format=csv").status_code == 302

    def test_runs_no_formula(self, browser: Browser) -> None:
        make_sensor()
        sent = sent_attempt()
        sent.payload["error"] = "=1+1"
        get_store().add_events([sent])
        assert ",=1" not in str(self.read(browser, "format=csv"))


class TestClientPage:
    @pytest.fixture
    def client(self) -> Client:
        client = make_client("watch")
        for sensor_id in ("0xA", "0xB"):
            make_sensor(sensor_id, open_limit=60)
            link(sensor_id, client)
        make_sensor("other")
        return client

    def page(self, client: Client) -> str:
        return f"/admin/sensors/client/{client.pk}/change/"

    def test_has_the_history_of_its_sensors_alone(self, browser: Browser, client: Client) -> None:
        send(3, sensor="0xA")
        send(2, sensor="0xB")
        send(1, sensor="other")
        assert rows_of(browser, "show=signal", self.page(client)) == [
            ("signal", "0xB", "open"),
            ("signal", "0xA", "open"),
        ]
        assert list(shown(browser, "", self.page(client)).charts) == ["0xA", "0xB"]

    def test_has_notifications_to_itself_alone(self, browser: Browser, client: Client) -> None:
        mine, theirs = (replace(sent_attempt(), id=10_000 + n) for n in (1, 2))
        mine.payload["endpoint"], theirs.payload["endpoint"] = client.endpoint_id, client.endpoint_id + 1
        get_store().add_events([mine, theirs])
        assert len(rows_of(browser, "show=notification", self.page(client))) == 1

    def test_takes_at_most_31_days(self, browser: Browser, client: Client) -> None:
        history = shown(browser, f"from={format_time(ago(days=32))}", self.page(client))
        assert history.error

    def test_lists_what_is_left_open_and_what_is_lost_for_longest(self, browser: Browser, client: Client) -> None:
        send(3, sensor="0xA")
        SensorState.objects.filter(pk="0xB").update(seen_at=ago(days=2), lost_at=ago(days=1))
        page = browser.get(self.page(client)).context["page"]
        assert ([door.pk for door in page.left_open], [state.pk for state in page.lost]) == (["0xA"], ["0xB"])


class TestAttentionPage:
    ADDRESS = "/admin/sensors/sensor/attention/"

    def test_shows_first_what_has_been_so_for_longest(self, browser: Browser) -> None:
        for n in range(3):
            make_sensor(f"s{n}", open_limit=60)
            send(n + 1, sensor=f"s{n}")
            make_sensor(f"l{n}")
            SensorState.objects.filter(pk=f"l{n}").update(seen_at=ago(days=9), lost_at=ago(days=n + 1))
        answer = browser.get(self.ADDRESS)
        assert [door.pk for door in answer.context["doors"]] == ["s2", "s1", "s0"]
        assert [state.pk for state in answer.context["states"]] == ["l2", "l1", "l0"]

    def test_goes_on_page_by_page(self, browser: Browser) -> None:
        now = timezone.now()
        for n in range(60):
            make_sensor(f"s{n:02d}", open_limit=60)
        OpenDoor.objects.bulk_create(
            OpenDoor(sensor_id=f"s{n:02d}", opened_at=now, limit_at=ago(minutes=60 - n), heard_at=now)
            for n in range(60)
        )
        first = browser.get(self.ADDRESS)
        second = browser.get(f"{self.ADDRESS}?{first.context['open_pages']['older']}")
        assert [door.pk for door in second.context["doors"]] == [f"s{n}" for n in range(50, 60)]
        assert second.context["open_pages"]["older"] == ""


def test_a_page_takes_few_queries(browser: Browser, django_assert_max_num_queries: Any) -> None:
    client = make_client("watch")
    for n in range(12):
        make_sensor(f"s{n}", open_limit=60)
        link(f"s{n}", client)
        send(3, 2, 1, sensor=f"s{n}")
    get_store().add_events([replace(sent_attempt(), sensor_id="s1")])
    for page in ("/admin/sensors/sensor/s1/change/", f"/admin/sensors/client/{client.pk}/change/"):
        browser.get(page)
        with django_assert_max_num_queries(30):
            browser.get(page)
