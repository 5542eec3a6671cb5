import threading
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pika.adapters.blocking_connection import BlockingChannel
from pika.spec import BasicProperties

from config.engines.amqp import connect
from sensors.history import consumer as consumer_module
from sensors.history.consumer import HistoryConsumer
from sensors.history.database import DatabaseStore
from sensors.history.errors import HistoryAway
from sensors.history.queue import declare_history_queue, encode_batch
from sensors.history.store import HistoryStore, close_stores, get_store
from sensors.history.values import Period
from sensors.ingest.signals import Signal
from sensors.models import RejectedSignal
from tests.sensors.history.past_records import signal
from tests.servers.clickhouse import ClickHouseServer

pytestmark = pytest.mark.django_db(transaction=True)

EVER = Period()
YEAR_2200 = 7_258_118_400_000


class Queue:
    """A queue of this test alone, as `run_ingest` fills it."""

    def __init__(self, channel: BlockingChannel) -> None:
        self.name = f"signals.history.{uuid.uuid4().hex}"
        self.channel = channel
        declare_history_queue(channel, self.name)
        channel.confirm_delivery()

    def send(self, *batches: list[Signal] | bytes) -> None:
        for batch in batches:
            body = batch if isinstance(batch, bytes) else encode_batch(batch)
            self.channel.basic_publish("", self.name, body, BasicProperties(delivery_mode=2), mandatory=True)

    @property
    def waiting(self) -> int:
        return int(self.channel.queue_declare(self.name, passive=True).method.message_count)


@pytest.fixture
def queue(settings: Any, servers: Any) -> Iterator[Queue]:
    settings.AMQP_URL = servers.amqp
    settings.HISTORY_SECONDS = 0.2
    connection = connect()
    made = Queue(connection.channel())
    yield made
    made.channel.queue_delete(made.name)
    connection.close()


@pytest.fixture
def consumer(queue: Queue) -> Iterator[HistoryConsumer]:
    made = HistoryConsumer(queue.name)
    yield made
    made.close()


def turn(consumer: HistoryConsumer, until: Callable[[], bool], *, seconds: float = 30) -> None:
    """Take turns as the loop does, until the condition holds."""
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "the consumer did not get there"
        if not consumer.run_once():
            time.sleep(0.02)


def wait(until: Callable[[], bool], *, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end
        time.sleep(0.02)


def kept(store: HistoryStore) -> list[Signal]:
    return store.read_signals(["0xA"], EVER, limit=10_000)


class TestRunOnce:
    def test_gathers_messages_of_any_size_into_one_insert(
        self, clickhouse_store: HistoryStore, queue: Queue, consumer: HistoryConsumer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        inserted: list[int] = []
        add = clickhouse_store.add_signals

        def count_and_add(some: Any) -> None:
            add(some)
            inserted.append(len(some))

        monkeypatch.setattr(clickhouse_store, "add_signals", count_and_add)
        queue.send([signal(0)], [signal(n) for n in range(1, 6)], [signal(6)])
        turn(consumer, lambda: bool(inserted))
        assert inserted == [7]
        assert kept(clickhouse_store) == [signal(n) for n in reversed(range(7))]

    def test_a_full_batch_does_not_wait_for_its_time(
        self, clickhouse_store: HistoryStore, queue: Queue, consumer: HistoryConsumer, settings: Any
    ) -> None:
        settings.HISTORY_BATCH, settings.HISTORY_SECONDS = 3, 60
        queue.send([signal(0), signal(1)], [signal(2), signal(3)], [signal(4)])
        assert consumer.run_once() is True
        assert kept(clickhouse_store) == [signal(n) for n in reversed(range(4))]
        assert consumer.run_once() is False, "the rest waits for its time"

    def test_never_holds_more_than_a_batch_and_a_message(
        self, db: None, queue: Queue, consumer: HistoryConsumer, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        settings.HISTORY_BATCH = 10
        held: list[int] = []
        monkeypatch.setattr(consumer_module, "write_signals", lambda store, some, bad: held.append(len(some)))
        queue.send(*([signal(n) for n in range(7)] for _ in range(20)))
        turn(consumer, lambda: sum(held) == 140)
        assert max(held) == 14

    def test_acknowledges_after_the_insert_and_not_before(
        self, db: None, queue: Queue, consumer: HistoryConsumer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def die(*args: object) -> None:
            raise KeyError("a bug in the middle of the insert")

        queue.send([signal(1)])
        with monkeypatch.context() as patch:
            patch.setattr(DatabaseStore, "add_signals", die)
            with pytest.raises(KeyError):
                turn(consumer, lambda: False)
        turn(consumer, lambda: len(kept(get_store())) == 1)
        assert queue.waiting == 0

    def test_crash_between_insert_and_acknowledgement_doubles_nothing(
        self, clickhouse_store: HistoryStore, queue: Queue, consumer: HistoryConsumer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Died(BaseException):
            """The process ends here."""

        def die(*args: object, **options: object) -> None:
            raise Died

        queue.send([signal(1), signal(2)], [signal(3)])
        with monkeypatch.context() as patch:
            patch.setattr(BlockingChannel, "basic_ack", die)
            with pytest.raises(Died):
                turn(consumer, lambda: False)
        wait(lambda: queue.waiting == 2)
        assert len(kept(clickhouse_store)) == 3
        turn(consumer, lambda: queue.waiting == 0 and not consumer._batch.last_tag)
        assert kept(clickhouse_store) == [signal(3), signal(2), signal(1)]

    def test_a_poisoned_batch_loses_only_its_culprit(
        self, clickhouse_store: HistoryStore, queue: Queue, consumer: HistoryConsumer
    ) -> None:
        queue.send([signal(0), signal(1, at=YEAR_2200), signal(2)], b"\xc1no batch", [signal(3)])
        turn(consumer, lambda: RejectedSignal.objects.count() == 2)
        assert kept(clickhouse_store) == [signal(3), signal(2), signal(0)]
        consumer.close()
        assert queue.waiting == 0

    def test_two_at_once_write_everything_once(
        self, clickhouse_store: HistoryStore, queue: Queue, in_threads: Callable[..., list[Any]], settings: Any
    ) -> None:
        settings.HISTORY_BATCH = 40
        queue.send(*([signal(10 * part + n) for n in range(10)] for part in range(50)))
        queue.send(*([signal(10 * part + n) for n in range(10)] for part in range(0, 50, 7)))

        def consume(number: int) -> None:
            mine = HistoryConsumer(queue.name)
            turn(mine, lambda: len(kept(clickhouse_store)) == 500)
            mine.close()

        in_threads(consume, 2)
        assert kept(clickhouse_store) == [signal(n) for n in reversed(range(500))]


class TestStoreAway:
    def test_gives_everything_back_keeps_the_connection_and_goes_on(
        self, db: None, queue: Queue, consumer: HistoryConsumer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away(*args: object) -> None:
            raise HistoryAway

        monkeypatch.setattr(consumer_module, "REST_SECONDS", 0.5)
        queue.send([signal(1)], [signal(2)])
        with monkeypatch.context() as patch:
            patch.setattr(DatabaseStore, "add_signals", away)
            patch.setattr(DatabaseStore, "prepare", away)
            turn(consumer, lambda: consumer._resting_until > 0)
            wait(lambda: queue.waiting == 2)
            connection = consumer._connection
            for _ in range(5):
                assert consumer.run_once() is False
            assert queue.waiting == 2, "nothing is held while it waits"
        turn(consumer, lambda: len(kept(get_store())) == 2)
        assert consumer._connection is connection

    def test_fetches_nothing_until_the_store_answers(
        self, db: None, queue: Queue, consumer: HistoryConsumer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away(*args: object) -> None:
            raise HistoryAway

        def refuse(*args: object) -> None:
            raise AssertionError("fetched while the store was away")

        monkeypatch.setattr(consumer_module, "REST_SECONDS", 0.1)
        queue.send([signal(1)])
        with monkeypatch.context() as patch:
            patch.setattr(DatabaseStore, "add_signals", away)
            patch.setattr(DatabaseStore, "prepare", away)
            turn(consumer, lambda: consumer._resting_until > 0)
            patch.setattr(BlockingChannel, "basic_get", refuse)
            for _ in range(5):
                assert consumer.run_once() is False
                time.sleep(0.06)
        turn(consumer, lambda: len(kept(get_store())) == 1)

    def test_clickhouse_stopped_and_back_has_every_signal_once(
        self, queue: Queue, consumer: HistoryConsumer, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(consumer_module, "REST_SECONDS", 0.2)
        settings.HISTORY_SECONDS = 0.05
        with ClickHouseServer() as server:
            settings.CLICKHOUSE_URL = server.url
            queue.send([signal(n) for n in range(100)])
            turn(consumer, lambda: len(kept(get_store())) == 100)
            server.kill()
            queue.send(*([signal(n)] for n in range(50, 300)))
            turn(consumer, lambda: consumer._resting_until > 0)
            server.start()
            turn(consumer, lambda: len(kept(get_store())) == 300 and queue.waiting == 0)
            assert kept(get_store()) == [signal(n) for n in reversed(range(300))]
            close_stores()


class TestConnection:
    def test_is_kept_alive_while_an_insert_takes_long(
        self, db: None, queue: Queue, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("config.engines.amqp.HEARTBEAT_SECONDS", 1)
        consumer = HistoryConsumer(queue.name)
        add = DatabaseStore.add_signals

        def slowly(store: DatabaseStore, some: Any) -> None:
            time.sleep(5)
            add(store, some)

        monkeypatch.setattr(DatabaseStore, "add_signals", slowly)
        queue.send([signal(1)])
        turn(consumer, lambda: len(kept(get_store())) == 1)
        connection = consumer._connection
        assert connection is not None
        assert connection.is_open
        consumer.close()
        assert queue.waiting == 0, "acknowledged on the connection that was kept"

    def test_lost_in_the_middle_of_an_insert_repeats_the_batch(
        self, db: None, queue: Queue, consumer: HistoryConsumer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        writing = threading.Event()
        add = DatabaseStore.add_signals

        def cut_the_wire(store: DatabaseStore, some: Any) -> None:
            if not writing.is_set():
                writing.set()
                connection = consumer._connection
                assert connection is not None
                connection._impl._transport._sock.shutdown(2)
                time.sleep(0.3)
            add(store, some)

        monkeypatch.setattr(DatabaseStore, "add_signals", cut_the_wire)
        queue.send([signal(1)], [signal(2)])
        turn(consumer, lambda: writing.is_set() and consumer._connection is None)
        turn(consumer, lambda: queue.waiting == 0 and not consumer._batch.last_tag and consumer._connection is not None)
        assert kept(get_store()) == [signal(2), signal(1)]
