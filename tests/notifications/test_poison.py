import time

import pytest

from config.engines.amqp_messages import AmqpMessage
from notifications.models import Alert, MessageFailure, ParkedMessage
from notifications.services import poison
from notifications.services.poison import LIMIT, EngineAway, handle_redelivered, take_up

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]


class Died(BaseException):
    """The process ends here."""


def message(body: bytes) -> AmqpMessage:
    return AmqpMessage("q", body, {"message_id": "m\\x00"}, was_delivered=True)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    poison._in_a_row.clear()


class Handler:
    """Handles everything but what is bad."""

    def __init__(self, error: BaseException | None = None, bad: bytes = b"bad") -> None:
        self.error, self.bad = error or KeyError("a bug\x00"), bad
        self.calls: list[list[bytes]] = []

    def __call__(self, messages: list[AmqpMessage]) -> list[bytes]:
        self.calls.append([each.body for each in messages])
        if self.bad in self.calls[-1]:
            raise self.error
        return self.calls[-1]


def handle(handler: Handler, *bodies: bytes) -> list[list[bytes]]:
    return handle_redelivered([message(body) for body in bodies], handler, away=EngineAway)


class TestHandleRedelivered:
    def test_what_works_is_handled_together_and_leaves_no_count(self) -> None:
        handler = Handler()
        assert handle(handler, b"a", b"b") == [[b"a", b"b"]]
        assert not MessageFailure.objects.exists()

    def test_the_culprit_alone_is_parked_and_the_others_are_handled(self) -> None:
        handler = Handler()
        assert handle(handler, b"a", b"bad", b"b") == [[b"a"], [b"b"]]
        parked = ParkedMessage.objects.get()
        assert (parked.queue, bytes(parked.body), parked.failures) == ("q", b"bad", LIMIT)
        assert "a bug" in parked.error
        assert handler.calls.count([b"bad"]) == LIMIT - 1, "the first try was the one of all together"
        assert not MessageFailure.objects.exists()

    def test_tells_staff_in_one_alert_for_a_queue(self) -> None:
        handle(Handler(), b"bad")
        handle(Handler(), b"bad")
        alert = Alert.objects.get(kind="amqp.parked")
        assert (alert.subject, alert.detail) == ("queue/q", {"queue": "q", "count": 2})

    def test_what_its_process_dies_of_is_parked_in_the_end_without_being_touched(self) -> None:
        handler = Handler(Died())
        deaths = 0
        while not ParkedMessage.objects.exists():
            deaths += 1
            assert deaths < 20, "it goes on for ever"
            try:
                handle(handler, b"a", b"bad", b"b", b"c")
            except Died:
                continue
        assert deaths == LIMIT + 1
        assert ParkedMessage.objects.count() == 1, "those behind it were never tried, and are not to blame"
        assert ParkedMessage.objects.get().error == poison.DIED

    def test_what_is_away_counts_for_nothing(self) -> None:
        for _ in range(2 * LIMIT):
            with pytest.raises(EngineAway):
                handle(Handler(EngineAway()), b"a", b"bad")
        assert not MessageFailure.objects.exists()
        assert not ParkedMessage.objects.exists()

    def test_consumers_count_together(self) -> None:
        for _ in range(LIMIT):
            take_up([message(b"bad")])
        assert handle(Handler(), b"bad") == []
        assert ParkedMessage.objects.count() == 1

    def test_while_nothing_passes_each_one_waits_longer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        slept: list[float] = []
        monkeypatch.setattr(poison, "PAUSE", 0)
        monkeypatch.setattr(time, "sleep", slept.append)
        for number in range(4):
            handle(Handler(bad=b"bad%d" % number), b"bad%d" % number)
        assert [pause for pause in slept if pause] == [1, 2, 4]
        handle(Handler(), b"good")
        slept.clear()
        handle(Handler(), b"bad")
        assert not any(slept)
