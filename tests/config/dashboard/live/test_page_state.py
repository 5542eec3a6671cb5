from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from config.dashboard.live import counts, deliveries
from config.dashboard.live import page_state as facts_module
from config.dashboard.live.doors import read_fleet
from config.dashboard.live.page_state import LONGEST_SECONDS, Beside, PageState, read_state
from notifications.models import Alert, Delivery, Endpoint, Sequencer
from notifications.services.alerts import acknowledge_alert, raise_alert
from processes.exchange.models import ExchangeProcess
from tests.config.dashboard.live.conftest import AT
from tests.config.dashboard.live.records import make_process, move

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
Status = ExchangeProcess.Status


def counted(state: PageState) -> dict[str, int]:
    return {name: state.parts.deliveries[name] for name in ("pending", "dead")}


def clients() -> list[str]:
    """Return the states of the receivers that are shown."""
    return [each["state"] for each in first().parts.deliveries["clients"]]


def first() -> PageState:
    found = read_state(None, now=0.0)
    assert found is not None
    return found


class TestReadNews:
    def test_is_nothing_without_a_sign_of_news(self, django_assert_num_queries: Any) -> None:
        make_process()
        last = first()
        with django_assert_num_queries(2):
            assert read_state(last, now=0.25) is None

    def test_is_read_when_an_event_has_got_its_position(self) -> None:
        last = first()
        Sequencer.objects.update_or_create(pk=1, defaults={"position": 41})
        assert read_state(last, now=0.25) is not None

    def test_is_read_when_a_process_has_moved_without_an_event(self) -> None:
        process = make_process()
        last = first()
        move(process, Status.READY_TO_COMMIT)
        found = read_state(last, now=0.25)
        assert found is not None
        assert found.parts.processes[process.pk].status == Status.READY_TO_COMMIT

    def test_is_read_every_time_while_files_are_moved(self) -> None:
        make_process(Status.CLEANUP)
        assert read_state(first(), now=0.25) is not None

    def test_is_read_from_time_to_time_at_least(self) -> None:
        assert read_state(first(), now=LONGEST_SECONDS) is not None

    def test_costs_the_same_however_much_there_is(self, django_assert_max_num_queries: Any) -> None:
        for number in range(30):
            make_process(Status.values[number % 9], minute=number)
            raise_alert("k", str(number), "A thing")
        with django_assert_max_num_queries(16):
            first()

    def test_holds_nothing_that_the_page_does_not_show(self) -> None:
        found = read_state(None, now=0.0, beside=Beside(queues={"signals": 1}, fleet=read_fleet()))
        assert found is not None
        page = "".join(path.read_text() for path in (settings.BASE_DIR / "templates/dashboard/live").glob("*.html"))
        parts = ("sensors", "deliveries", "workflows", "sessions", "changes", "runtime")
        sent = [f"{part}.{name}" for part in parts for name in getattr(found.parts, part)]
        assert [path for path in sent if f'="{path}"' not in page] == []

    def test_counts_deliveries_up_to_a_limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        endpoint = Endpoint.objects.create(url="https://example.org/", secret=b"x")
        usual = {"endpoint": endpoint, "type": "t", "family": "list", "body": {}}
        for status in ("pending", "pending", "pending", "dead", "delivered"):
            Delivery.objects.create(**usual, status=status, due_at=AT if status == "pending" else None)
        assert counted(first()) == {"pending": 3, "dead": 1}
        monkeypatch.setattr(counts, "MOST_COUNTED", 2)
        assert counted(first()) == {"pending": 2, "dead": 1}

    def test_says_how_sending_to_each_receiver_goes(self) -> None:
        made = {"failures": 3, "opened_at": AT, "probe_at": timezone.now() + timedelta(hours=1)}
        states: dict[str, dict[str, Any]] = {
            "open": made,
            "half_open": {**made, "opened_at": AT + timedelta(minutes=1), "probe_at": timezone.now()},
            "failing": {"failures": 1},
            "inactive": {"active": False, "off_reason": "410 Gone"},
            "deactivated_by_staff": {"active": False},
            "paused": {**made, "paused": True},
            "ok": {},
        }
        for state, values in states.items():
            Endpoint.objects.create(url=f"https://{state}.org/", secret=b"x", **values)
        assert clients() == ["open", "half_open", "failing", "paused", "inactive"]

    def test_where_nothing_fails_it_shows_who_has_most_to_get(self) -> None:
        usual = {"type": "t", "family": "list", "body": {}, "status": "pending", "due_at": AT}
        for number in range(1, 11):
            endpoint = Endpoint.objects.create(url=f"https://{number}.org/", secret=b"x")
            Delivery.objects.bulk_create(Delivery(endpoint=endpoint, **usual) for _ in range(number))
        shown = first().parts.deliveries["clients"]
        assert [each["waiting"] for each in shown] == [10, 9, 8, 7, 6, 5, 4, 3]
        assert {each["state"] for each in shown} == {"ok"}
        Endpoint.objects.filter(pk=shown[0]["key"]).update(failures=1)
        assert clients() == ["failing"]

    def test_of_more_than_it_reads_it_says_of_nobody_that_they_have_most(self, monkeypatch: pytest.MonkeyPatch) -> None:
        endpoint = Endpoint.objects.create(url="https://one.org/", secret=b"x")
        usual = {"type": "t", "family": "list", "body": {}, "status": "pending", "due_at": AT}
        Delivery.objects.bulk_create(Delivery(endpoint=endpoint, **usual) for _ in range(3))
        assert clients() == ["ok"]
        monkeypatch.setattr(deliveries, "MOST_COUNTED", 3)
        assert clients() == []

    def test_tells_the_end_of_an_alert_once(self) -> None:
        alert = raise_alert("k", "s", "A thing in %(place)s", {"place": "Oslo"})
        last = first()
        assert last.parts.alerts[alert].titles["en"] == "A thing in Oslo"
        acknowledge_alert(alert, "staff:olga")
        found = read_state(last, now=9.0)
        assert found is not None
        assert found.parts.alerts[alert].status == Alert.Status.ACKNOWLEDGED
        again = read_state(found, now=18.0)
        assert again is not None
        assert again.parts.alerts == {}

    def test_shows_the_newest_alerts_alone(self, monkeypatch: pytest.MonkeyPatch) -> None:
        ids = [raise_alert("k", str(number), "A thing") for number in range(4)]
        monkeypatch.setattr(facts_module, "MOST_ALERTS", 3)
        assert list(first().parts.alerts) == ids[:0:-1]

    def test_does_not_keep_those_that_newer_ones_have_pushed_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(facts_module, "MOST_ALERTS", 3)
        state = first()
        for number in range(9):
            newest = raise_alert("k", str(number), "A thing")
            state = read_state(state, now=9.0 * (number + 1)) or state
        assert max(state.parts.alerts) == newest
        assert len(state.parts.alerts) == 3
