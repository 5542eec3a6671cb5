import time

import pytest

from config.engines.amqp_messages import AmqpMessage
from notifications.models import Alert, MessageFailure, ParkedMessage
from notifications.services import poison
from notifications.services.parked_messages import discard_parked_message
from notifications.services.poison import LIMIT, EngineUnavailable, count_attempts, handle_redelivered

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
    return handle_redelivered([message(body) for body in bodies], handler, away=EngineUnavailable)


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
            with pytest.raises(EngineUnavailable):
                handle(Handler(EngineUnavailable()), b"a", b"bad")
        assert not MessageFailure.objects.exists()
        assert not ParkedMessage.objects.exists()

    def test_consumers_count_together(self) -> None:
        for _ in range(LIMIT):
            count_attempts([message(b"bad")])
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


class TestBound:
    """What is parked and undecided is bounded; past the bound the message stays in its queue, and staff are told."""

    @pytest.fixture(autouse=True)
    def _small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(poison, "MOST_PARKED", 2)
        monkeypatch.setattr(poison, "MOST_PARKED_BYTES", 100)
        monkeypatch.setattr(poison, "MOST_PARKED_IN_ALL", 3)
        monkeypatch.setattr(poison, "MOST_PARKED_BYTES_IN_ALL", 150)

    def fill(self, *sizes: int, queue: str = "q") -> None:
        for size in sizes:
            ParkedMessage.objects.create(queue=queue, body=b"x" * size, failures=5)

    def is_full(self) -> bool:
        """Try a message that fails again and again; return whether its queue stands still."""
        parked = ParkedMessage.objects.count()
        try:
            handle(Handler(), b"bad")
        except EngineUnavailable:
            assert ParkedMessage.objects.count() == parked
            return True
        assert ParkedMessage.objects.count() == parked + 1
        return False

    def test_one_past_the_messages_of_a_queue(self) -> None:
        self.fill(1)
        assert not self.is_full()
        assert self.is_full()

    def test_past_the_bytes_of_a_queue(self) -> None:
        self.fill(99)
        assert not self.is_full()
        ParkedMessage.objects.all().delete()
        self.fill(100)
        assert self.is_full()

    def test_one_past_the_messages_of_all_queues(self) -> None:
        self.fill(1, 1, queue="other")
        assert not self.is_full()
        assert self.is_full()

    def test_past_the_bytes_of_all_queues(self) -> None:
        self.fill(150, queue="other")
        assert self.is_full()

    def test_what_is_decided_counts_no_longer_and_the_queue_goes_on(self) -> None:
        self.fill(1, 1)
        assert self.is_full()
        assert self.is_full(), "for as long as nobody decides"
        alert = Alert.objects.get(kind="amqp.parking_full")
        assert (alert.subject, alert.detail) == ("queue/q", {"queue": "q", "count": 2})
        discard_parked_message(message_id=ParkedMessage.objects.earliest("id").pk, actor="olga", reason="known")
        alert.refresh_from_db()
        assert alert.status == "resolved"
        assert not self.is_full()

    def test_others_of_the_batch_are_handled(self) -> None:
        self.fill(1, 1)
        handler = Handler()
        with pytest.raises(EngineUnavailable):
            handle(handler, b"a", b"bad", b"b")
        assert [b"a"] in handler.calls
        count = MessageFailure.objects.get(digest=message(b"bad").digest)
        assert count.failures == LIMIT, "it is as hopeless the next time"
