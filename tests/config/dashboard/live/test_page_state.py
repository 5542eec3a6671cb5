from typing import Any

import pytest

from config.dashboard.live import page_state as facts_module
from config.dashboard.live.page_state import LONGEST_SECONDS, PageState, read_state
from notifications.models import Alert, Delivery, Endpoint, Sequencer
from notifications.services.alerts import acknowledge_alert, raise_alert
from processes.exchange.models import ExchangeProcess
from tests.config.dashboard.live.conftest import AT
from tests.config.dashboard.live.records import make_process, move

pytestmark = [pytest.mark.embedded, pytest.mark.django_db]
Status = ExchangeProcess.Status


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
        with django_assert_max_num_queries(14):
            first()

    def test_counts_deliveries_up_to_a_limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        endpoint = Endpoint.objects.create(url="https://example.org/", secret=b"x")
        usual = {"endpoint": endpoint, "type": "t", "family": "list", "body": {}}
        for status in ("pending", "pending", "pending", "dead", "delivered"):
            Delivery.objects.create(**usual, status=status, due_at=AT if status == "pending" else None)
        assert first().parts.deliveries == {"pending": 3, "dead": 1}
        monkeypatch.setattr(facts_module, "MOST_COUNTED", 2)
        assert first().parts.deliveries == {"pending": 2, "dead": 1}

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
