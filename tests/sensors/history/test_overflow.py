import random
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError
from pika.adapters.blocking_connection import BlockingChannel

from config.engines.amqp import connect
from notifications.models import Alert
from sensors.history import consumer as consumer_module
from sensors.history import overflow
from sensors.history.consumer import HistoryConsumer
from sensors.history.database import DatabaseStore
from sensors.history.errors import HistoryAway
from sensors.history.overflow import move_overflow
from sensors.history.queue import encode_batch, pack_bodies, unpack_bodies
from sensors.history.spool import drain_spool_once
from sensors.ingest.signals import Signal
from sensors.models import HistorySpool, RejectedSignal, StoredSignal
from tests.sensors.history.past_records import signal
from tests.sensors.history.test_consumer import Queue, turn

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def queue(settings: Any, servers: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    settings.AMQP_URL = servers.amqp
    settings.HISTORY_SECONDS = 0.2
    monkeypatch.setattr(overflow, "MOST_QUEUED", 3)
    connection = connect()
    made = Queue(connection.channel())
    yield made
    made.channel.queue_delete(made.name)
    connection.close()


@pytest.fixture
def mover(queue: Queue) -> Iterator[BlockingChannel]:
    connection = connect()
    yield connection.channel()
    connection.close()


class TestMoveOverflow:
    def test_the_oldest_past_the_bound_wait_in_the_database(self, queue: Queue, mover: BlockingChannel) -> None:
        queue.send(*([signal(n)] for n in range(10)))
        assert move_overflow(mover, queue.name) is False
        assert queue.waiting == 3
        drain_spool_once()
        assert StoredSignal.objects.count() == 7
        assert set(StoredSignal.objects.values_list("signal_id", flat=True)) == {signal(n).id for n in range(7)}

    def test_a_short_queue_is_left_alone(self, queue: Queue, mover: BlockingChannel) -> None:
        queue.send(*([signal(n)] for n in range(3)))
        assert move_overflow(mover, queue.name) is False
        assert not HistorySpool.objects.exists()
        assert not Alert.objects.exists()

    def test_takes_a_part_at_a_time(
        self, queue: Queue, mover: BlockingChannel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(overflow, "MOST_MOVED", 2)
        queue.send(*([signal(n)] for n in range(8)))
        assert [move_overflow(mover, queue.name) for _ in range(3)] == [True, True, False]
        assert queue.waiting == 3

    def test_what_is_no_batch_is_moved_as_well_and_rejected_in_the_end(
        self, queue: Queue, mover: BlockingChannel
    ) -> None:
        queue.send(b"\x78\x9cnothing", b"", [signal(1)], [signal(2)], [signal(3)], [signal(4)])
        move_overflow(mover, queue.name)
        drain_spool_once()
        assert StoredSignal.objects.count() == 1
        assert sum(RejectedSignal.objects.values_list("count", flat=True)) == 2

    def test_dying_before_the_acknowledgement_repeats_and_doubles_nothing(
        self, queue: Queue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        queue.send(*([signal(n)] for n in range(5)))
        for _ in range(2):
            connection = connect()
            channel = connection.channel()
            with monkeypatch.context() as patch:
                patch.setattr(channel, "basic_ack", lambda *_, **__: None)
                move_overflow(channel, queue.name)
            connection.close()
        assert queue.waiting == 5
        drain_spool_once()
        assert StoredSignal.objects.count() == 2

    def test_what_the_database_could_not_take_stays_in_the_queue(
        self, queue: Queue, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        queue.send(*([signal(n)] for n in range(5)))

        def fail() -> None:
            raise OperationalError("the server closed the connection")

        connection = connect()
        with monkeypatch.context() as patch:
            patch.setattr(overflow, "_raise_alert", fail)
            with pytest.raises(OperationalError):
                move_overflow(connection.channel(), queue.name)
        connection.close()
        assert (queue.waiting, HistorySpool.objects.count()) == (5, 0)

    def test_tells_staff_until_nothing_waits_any_more(self, queue: Queue, mover: BlockingChannel) -> None:
        queue.send(*([signal(n)] for n in range(5)))
        move_overflow(mover, queue.name)
        alert = Alert.objects.get(kind="history.backlog")
        assert (alert.status, alert.detail["rows"]) == ("open", 1)
        drain_spool_once()
        alert.refresh_from_db()
        assert alert.status == "resolved"

    def test_a_spool_that_fills_the_disk_is_an_alert_of_its_own(
        self, queue: Queue, mover: BlockingChannel, settings: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        queue.send(*([signal(n)] for n in range(5)))
        move_overflow(mover, queue.name)
        size = len(HistorySpool.objects.get().batch)
        settings.HISTORY_SPOOL_GB = 2
        monkeypatch.setattr(overflow, "GIGABYTE", size)
        queue.send([signal(5)])
        move_overflow(mover, queue.name)
        assert not Alert.objects.filter(kind="history.spool_large").exists(), "of two times the size a little lacks"
        queue.send([signal(6)])
        move_overflow(mover, queue.name)
        alert = Alert.objects.get(kind="history.spool_large")
        assert (alert.status, alert.subject) == ("open", "engine/clickhouse")
        drain_spool_once()
        alert.refresh_from_db()
        assert alert.status == "resolved"


def test_the_consumer_keeps_the_queue_short_while_the_store_is_away_and_loses_nothing(
    queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: object) -> None:
        raise HistoryAway

    monkeypatch.setattr(consumer_module, "REST_SECONDS", 0.1)
    consumer = HistoryConsumer(queue.name)
    with monkeypatch.context() as patch:
        patch.setattr(DatabaseStore, "add_signals", away)
        patch.setattr(DatabaseStore, "prepare", away)
        for part in range(5):
            queue.send(*([signal(10 * part + n)] for n in range(10)))
            turn(consumer, lambda: queue.waiting == 3)
    turn(consumer, lambda: StoredSignal.objects.count() == 3)
    consumer.close()
    drain_spool_once()
    assert StoredSignal.objects.count() == 50


class TestPackBodies:
    def test_gives_back_what_was_packed(self) -> None:
        bodies = [b"", b"\x00\xff", encode_batch([signal(1)])]
        assert unpack_bodies(pack_bodies(bodies)) == bodies

    def test_one_message_as_it_is_stays_one(self) -> None:
        body = encode_batch([signal(1)])
        assert unpack_bodies(body) == [body]

    def test_costs_few_bytes_for_a_signal(self) -> None:
        chosen = random.Random(1)
        start = 1_800_000_000_000
        signals = [
            Signal(f"s{chosen.randrange(10_000)}", start + n, f"{start + n:x}-{n:08x}-deadbeef", n % 2, start + n + 7)
            for n in range(20_000)
        ]
        assert len(pack_bodies([encode_batch(signals)])) / len(signals) < 25
