import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import DataError, OperationalError
from django.utils import timezone

from config.common.database import batches
from config.engines.publisher import NotPublished, Publisher, Sent
from notifications.models import Event
from sensors.heartbeat.clock import clock
from sensors.heartbeat.ingest_liveness import check_queue_once, watermark
from sensors.heartbeat.sweep import sweep_once
from sensors.history.queue import QUEUE as HISTORY
from sensors.ingest import apply, consumer
from sensors.ingest.apply import Applied
from sensors.ingest.consumer import Batch, Consumer, apply_or_bisect
from sensors.ingest.signal_queue import declare_presence, publish_probe
from sensors.ingest.signals import Rejection, Signal
from sensors.models import ConsumerMark, Probe, RejectedSignal, SensorState, WayIn
from tests.faults.wait import wait_until
from tests.sensors.amqp import Broker, broker, consume
from tests.sensors.registry import make_sensor

__all__ = ["broker"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.broker]


def now_text() -> str:
    return timezone.now().isoformat()


def marked() -> bool:
    return ConsumerMark.objects.exists()


class TestConsumer:
    def test_commits_passes_on_and_acknowledges(self, broker: Broker) -> None:
        make_sensor()
        broker.send({"sensor_id": "0xA", "data": 1, "at": now_text(), "id": "a"})
        broker.send([{"sensor_id": "0xA", "data": 0}], message_id="m", correlation_id="chain-12345")
        consume(lambda: Event.objects.count() == 2)
        assert SensorState.objects.get().value == 0
        assert [signal.id for signal in broker.history()] == ["a", "m:0"]
        assert broker.waiting() == 0
        assert Event.objects.order_by("-id").first().correlation_id == "chain-12345"

    def test_keeps_what_cannot_be_used_and_acknowledges_it(self, broker: Broker) -> None:
        make_sensor()
        broker.send(b"{broken")
        broker.send(b'"' + b"x" * 300 * 1024 + b'"')
        broker.send({"sensor_id": "0xA", "data": 1, "at": "1969-01-01T00:00:00Z", "id": "a"})
        broker.send({"sensor_id": "0xA", "data": 1, "at": "2200-01-01T00:00:00Z", "id": "a"})
        broker.send({"sensor_id": "stranger", "data": 1})
        broker.send({"sensor_id": "0xA", "data": 1, "at": now_text(), "id": "good"})
        consume(lambda: Event.objects.exists())
        codes = sorted(RejectedSignal.objects.values_list("code", flat=True))
        assert codes == ["bad_json", "bad_shape", "bad_time", "from_the_future", "unknown_sensor"]
        assert [signal.id for signal in broker.history()] == ["good"]
        assert broker.waiting() == 0

    def test_a_crash_before_the_acknowledgement_repeats_the_batch_without_effect(
        self, broker: Broker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_sensor()
        broker.send([{"sensor_id": "0xA", "data": n % 2, "at": now_text(), "id": str(n)} for n in range(4)])

        def die(*_: Any) -> bytes:
            raise RuntimeError("killed after the commit")

        with monkeypatch.context() as patch:
            patch.setattr(consumer, "encode_batch", die)
            with pytest.raises(RuntimeError):
                consume(lambda: False, seconds=5)
        assert Event.objects.count() == 4
        consume(lambda: broker.waiting(HISTORY) == 1)
        assert Event.objects.count() == 4
        assert sorted(signal.id for signal in broker.history()) == ["0", "1", "2", "3"]

    def test_gives_everything_back_while_the_database_is_away_and_goes_on_after(
        self, broker: Broker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_sensor()
        broker.send({"sensor_id": "0xA", "data": 1, "at": now_text(), "id": "a"})
        away_until = time.monotonic() + 2
        real_apply, real_answers = apply.apply_signals, batches.database_answers

        def apply_when_back(*args: Any, **options: Any) -> Any:
            if time.monotonic() < away_until:
                raise OperationalError("the server closed the connection")
            return real_apply(*args, **options)

        monkeypatch.setattr(consumer, "apply_signals", apply_when_back)
        for module in (batches, consumer):
            monkeypatch.setattr(module, "database_answers", lambda: time.monotonic() > away_until and real_answers())
        consume(lambda: Event.objects.exists())
        assert [signal.id for signal in broker.history()] == ["a"]


class TestApplyOrHalve:
    def test_the_culprit_alone_is_rejected(self, monkeypatch: pytest.MonkeyPatch) -> None:
        make_sensor()
        real = apply.apply_signals

        def choke(items: list[Signal | Rejection], **options: Any) -> Any:
            if any(isinstance(item, Signal) and item.id == "7" for item in items):
                raise DataError("out of range")
            return real(items, **options)

        monkeypatch.setattr(consumer, "apply_signals", choke)
        at = int(time.time() * 1000)
        batch: list[Signal | Rejection] = [Signal("0xA", at + n, str(n), n % 2, at) for n in range(10)]
        applied = apply_or_bisect(batch, also=lambda: None)
        assert [signal.id for signal in applied.accepted] == [str(n) for n in range(10) if n != 7]
        assert list(applied.refused) == [7]
        assert "out of range" in RejectedSignal.objects.get().message


class TestWatermark:
    def test_follows_the_probe_once_every_consumer_has_committed(self, broker: Broker) -> None:
        assert watermark() is None
        before = clock.look_and_correct()
        check_queue_once()
        consume(lambda: watermark() is not None)
        mark = Probe.objects.get().sent_at
        assert mark >= before

    def test_a_consumer_that_is_connected_holds_it_and_one_that_is_not_is_dropped(self, broker: Broker) -> None:
        long_ago = clock.look_and_correct() - timedelta(minutes=2)
        declare_presence(broker.channel, "paused")
        ConsumerMark.objects.create(consumer="paused", heard_at=long_ago)
        ConsumerMark.objects.create(consumer="dead", heard_at=long_ago)
        check_queue_once()
        assert list(ConsumerMark.objects.values_list("consumer", flat=True)) == ["paused"]
        assert WayIn.objects.get(pk=WayIn.QUEUE).proven_from > clock.now(), "earlier probes prove nothing"
        consume(lambda: Probe.objects.exists())
        assert watermark() is None

    def test_a_consumer_that_stops_in_order_takes_its_mark_along(self, broker: Broker) -> None:
        consume(marked)
        assert not marked()
        assert WayIn.objects.get(pk=WayIn.QUEUE).proven_from > clock.now()

    def test_a_probe_from_the_future_does_not_count(self, broker: Broker) -> None:
        publish_probe(clock.look_and_correct() + timedelta(hours=1))
        consume(lambda: broker.waiting() == 0 and marked())
        assert not Probe.objects.exists()


class Gated(Consumer):
    """A consumer whose socket can be left unread: what the broker hands to it lies there while it goes on."""

    def __init__(self, name: str) -> None:
        self.reads, self.rests, self._stops = threading.Event(), threading.Event(), threading.Event()
        self.reads.set()
        super().__init__(name, should_stop=self._stops.is_set)
        self._thread = threading.Thread(target=self.run, name=name)
        self._thread.start()

    def _open(self) -> None:
        super()._open()
        read = self._connection.process_data_events

        def read_or_rest(time_limit: float) -> None:
            if self.reads.is_set():
                read(time_limit)
            else:
                self.rests.set()
                time.sleep(time_limit)

        self._connection.process_data_events = read_or_rest

    def end(self) -> None:
        self.reads.set()
        self._stops.set()
        self._thread.join(60)


@pytest.fixture
def two(broker: Broker) -> Iterator[list[Gated]]:
    consumers = [Gated("slow"), Gated("quick")]
    assert wait_until(lambda: broker.listeners() == 2)
    yield consumers
    for each in consumers:
        each.end()


class TestTwoConsumers:
    def listen_and_sweep(self, seconds: float) -> None:
        for _ in range(int(seconds / 0.25)):
            check_queue_once()
            sweep_once()
            time.sleep(0.25)

    def test_a_signal_unread_with_one_is_no_silence_though_probes_pass_through_the_other(
        self, broker: Broker, two: list[Gated]
    ) -> None:
        for sensor_id in ("a", "b"):
            make_sensor(sensor_id, heartbeat_timeout=1)
        broker.send([{"sensor_id": "a", "data": 1}, {"sensor_id": "b", "data": 1}])
        assert wait_until(lambda: not SensorState.objects.filter(seen_at=None).exists())
        two[0].reads.clear()
        assert two[0].rests.wait(60)
        broker.send({"sensor_id": "a", "data": 0})
        broker.send({"sensor_id": "b", "data": 0})  # in turn: each consumer has one of the two
        assert wait_until(lambda: broker.waiting() == 0)
        self.listen_and_sweep(7)
        assert Probe.objects.count() > 3, "through the other one they pass"
        unread = set(SensorState.objects.filter(value=1).values_list("sensor_id", flat=True))
        assert len(unread) == 1, "one of the signals is still in the socket"
        assert not Event.objects.filter(type="sensor.connection_lost").exists()

        two[0].reads.set()
        assert wait_until(lambda: not SensorState.objects.filter(value=1).exists())
        self.listen_and_sweep(8)
        lost = Event.objects.filter(type="sensor.connection_lost").values_list("subject", flat=True)
        assert sorted(lost) == ["sensor/a", "sensor/b"], "now both have been silent for long"
        assert not Event.objects.filter(type="sensor.connection_restored").exists()


def test_a_consumer_asked_to_stop_gives_back_what_it_holds(broker: Broker) -> None:
    make_sensor()
    for n in range(50):
        broker.send({"sensor_id": "0xA", "data": 1, "id": str(n), "at": now_text()})
    Consumer("brief", should_stop=iter([False, True, True]).__next__).run()
    taken: set[str] = set()

    def has_all() -> bool:
        taken.update(signal.id for signal in broker.history())
        return len(taken) == 50

    consume(has_all)
    assert taken == {str(n) for n in range(50)}


class Counted(Consumer):
    """A consumer that looks, before each commit, how many messages the broker has handed to it."""

    def __init__(self, broker: Broker, sent: int) -> None:
        self.broker, self.sent, self.acknowledged, self.most_held = broker, sent, 0, 0
        super().__init__("counted", should_stop=lambda: self.acknowledged >= sent)

    def _begin_commit(self) -> None:
        time.sleep(0.02)  # the broker hands out all that it may
        self.most_held = max(self.most_held, self.sent - self.broker.waiting() - self.acknowledged)
        super()._begin_commit()

    def _acknowledge(self, batch: Batch, applied: Applied) -> None:
        super()._acknowledge(batch, applied)
        self.acknowledged += batch.messages


class TestPrefetch:
    """The broker counts messages; what is handed to one consumer is bounded in signals all the same."""

    @pytest.fixture(autouse=True)
    def _small_batches(self, settings: Any) -> None:
        settings.INGEST_BATCH = 10
        make_sensor()

    def run(self, broker: Broker, message: list[dict[str, Any]], count: int) -> Counted:
        broker.send_all([message] * count)
        assert wait_until(lambda: broker.waiting() == count)
        counted = Counted(broker, count)
        counted.run()
        return counted

    def test_of_lists_fewer_messages_are_under_way(self, broker: Broker) -> None:
        lists = self.run(broker, [{"sensor_id": "0xA", "data": 1}] * 10, 40)
        assert lists.most_held <= 5, "three batches are three lists; one limit is on its way while another holds"
        assert len(broker.history()) == 400

    def test_of_single_signals_whole_batches_are(self, broker: Broker) -> None:
        assert self.run(broker, [{"sensor_id": "0xA", "data": 1}], 100).most_held >= 20

    def test_a_large_message_counts_by_its_bytes(self, broker: Broker) -> None:
        large = [{"sensor_id": "0xA", "data": 1, "note": "x" * 1000}]
        assert self.run(broker, large, 40).most_held <= 5


class Refusing(Publisher):
    """A way to history on which nothing arrives."""

    def send(self, body: bytes, **options: Any) -> Sent:
        sent = Sent("", "", body, None)
        sent.fail(NotPublished("refused"))
        return sent


def test_what_history_has_not_confirmed_stays_in_the_queue(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    make_sensor()
    broker.send({"sensor_id": "0xA", "data": 1})
    monkeypatch.setattr(consumer, "Publisher", Refusing)
    with pytest.raises(NotPublished):
        consume(lambda: False)
    assert Event.objects.count() == 1
    assert wait_until(lambda: broker.waiting() == 1)
