"""No message stops a consumer: after everything that may lie in a queue, a good one is still handled."""

import json
import os
import signal as signal_module
import struct
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pika
import pytest
from celery.contrib.testing.worker import start_worker
from django.db import DataError
from pika.adapters.blocking_connection import BlockingChannel
from pika.spec import BasicProperties

from config import celery
from config.records.models import LogEntry
from notifications.models import Alert, Event, ParkedMessage
from notifications.services.poison import DIED, LIMIT
from processes.coordination.bus import amqp
from processes.coordination.bus.amqp import AmqpBus
from processes.coordination.coordinator.role import Coordinator
from processes.coordination.models import RoleLife
from processes.coordination.protocol.messages import COORDINATOR, Message, MessageType, encode_message
from processes.workflows.services.events import amqp as workflows
from processes.workflows.services.events.amqp import EventConsumer
from processes.workflows.services.events.receive import receive_event
from sensors.history import consumer as history_consumer
from sensors.history.consumer import HistoryConsumer
from sensors.history.queue import QUEUE as HISTORY
from sensors.history.queue import declare_history_queue, encode_batch
from sensors.history.store import get_store
from sensors.history.values import Period
from sensors.history.write import write_signals
from sensors.ingest import consumer
from sensors.ingest.apply import apply_signals
from sensors.ingest.signal_queue import QUEUE as SIGNALS
from sensors.ingest.signal_queue import declare_signal_queue as declare_signals
from sensors.ingest.signals import Signal
from sensors.models import RejectedSignal, SensorState
from tests.conftest import ServerAddresses
from tests.faults.fork_safety import close_all_connections
from tests.faults.hostile_messages import BODIES, PROPERTIES, RawProperties, encode_properties, header_table
from tests.faults.wait import wait_until
from tests.processes.coordination.in_memory_roles import DATABASES
from tests.sensors.amqp import consume
from tests.sensors.history.past_records import signal
from tests.sensors.registry import make_sensor

pytestmark = [pytest.mark.django_db(transaction=True, databases=DATABASES), pytest.mark.broker]

ODD_TASKS = {
    "array": header_table(b"A", struct.pack(">I", 1) + b"V", b"task"),
    "table": header_table(b"F", struct.pack(">I", 0), b"task"),
    "nothing": header_table(b"V", b"", b"task"),
    "binary": header_table(b"S", struct.pack(">I", 2) + b"\xff\x00", b"task"),
    "unknown": header_table(b"S", struct.pack(">I", 4) + b"none", b"task"),
    "known": header_table(b"S", struct.pack(">I", 9) + b"test.ring", b"task"),
}
"""Headers that name the task of a message, the last one without anything else that a task has."""
GOOD = {"sensor_id": "0xA", "data": 1}


class Queue:
    def __init__(self, channel: BlockingChannel, name: str) -> None:
        self._channel, self.name = channel, name
        channel.queue_purge(name)
        channel.confirm_delivery()

    def send(self, body: bytes, encoded: bytes = b"\x00\x00") -> None:
        self._channel.basic_publish("", self.name, body, RawProperties(encoded), mandatory=True)

    def send_everything(self, good: bytes, *odd: bytes) -> None:
        """Send every odd property with a good body, every odd body without properties."""
        for encoded in PROPERTIES.values():
            self.send(good, encoded)
        for body in [*BODIES.values(), *odd]:
            self.send(body)

    @property
    def waiting(self) -> int:
        return int(self._channel.queue_declare(self.name, passive=True).method.message_count)


@pytest.fixture
def channel(servers: ServerAddresses, settings: Any) -> Iterator[BlockingChannel]:
    settings.AMQP_URL = servers.amqp
    settings.HISTORY_SECONDS = 0.2
    parameters = pika.URLParameters(servers.amqp)
    parameters.heartbeat = 0
    connection = pika.BlockingConnection(parameters)
    channel = connection.channel()
    declare_signals(channel)
    declare_history_queue(channel)
    workflows.declare_topology(channel)
    channel.queue_declare(COORDINATOR, durable=True)
    channel.queue_purge(HISTORY)
    yield channel
    channel.queue_delete(COORDINATOR)
    connection.close()
    amqp._publisher.close()


def turn(run_once: Callable[[], object], until: Callable[[], bool], *, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "the consumer did not get there"
        run_once()


def test_signals(channel: BlockingChannel) -> None:
    make_sensor()
    make_sensor("0xB")
    queue = Queue(channel, SIGNALS)
    queue.send_everything(json.dumps(GOOD).encode())
    queue.send(json.dumps({**GOOD, "sensor_id": "0xB"}).encode())
    consume(lambda: SensorState.objects.filter(sensor="0xB", value=1).exists(), seconds=60)
    assert queue.waiting == 0
    assert not ParkedMessage.objects.exists()
    binary = RejectedSignal.objects.filter(code="bad_shape", sensor_id="0xA")
    assert binary.exists(), "an id of bytes is no id, and is named as refused"


def test_history(channel: BlockingChannel, db: None) -> None:
    queue = Queue(channel, HISTORY)
    odd = [
        Signal("0xA", 2**63 - 1, "a", 1, 1),
        Signal("0xA", -(2**63), "b", -(2**63), -1),
        Signal("0x\x00A", 1, "\x00", 2**62, 2**62),
        Signal("x" * 70_000, 1, "y" * 70_000, 1, 1),
    ]
    queue.send_everything(encode_batch([signal(0)]), *(encode_batch([each]) for each in odd))
    queue.send(encode_batch([signal(7)]))
    consumer = HistoryConsumer()
    turn(consumer.run_once, lambda: signal(7) in get_store().read_signals(["0xA"], Period(), limit=100))
    consumer.close()
    assert queue.waiting == 0
    assert not ParkedMessage.objects.exists()


def test_workflow_events(channel: BlockingChannel) -> None:
    queue = Queue(channel, workflows.QUEUE)
    queue.send_everything(b'{"type": "custom.odd"}')
    queue.send(b'{"type": "custom.good"}')
    taking = EventConsumer()
    turn(taking.consume_once, lambda: Event.objects.filter(type="custom.good").exists())
    taking.close()
    assert queue.waiting == 0
    assert not ParkedMessage.objects.exists()
    ids = {event.payload["id"] for event in Event.objects.filter(type="custom.odd")}
    assert {"\\xff\\xfe\\x80\x01", r"a\x00b"} <= ids, "ids that differ stay different"
    assert Event.objects.filter(payload__source=r"amqp:a\x00b").exists()
    assert LogEntry.objects.filter(kind="workflow").count() >= len(BODIES)


def test_coordination(channel: BlockingChannel) -> None:
    queue = Queue(channel, COORDINATOR)
    odd = [
        encode_message(Message(told, event=event, role="\x00", reason="\x00", ids=[2**62]))
        for told in MessageType
        for event in (0, -1, 2**62)
    ]
    # Larger than any column, and than what an alert about it could name.
    odd += [b'{"told": "committed", "event": %d}' % event for event in (2**63, 2**64, 10**120)]
    envelopes = [b"[" + each + b"]" for each in odd]
    queue.send_everything(b"[" + encode_message(Message(MessageType.ALIVE, role="someone")) + b"]", *envelopes)
    queue.send(b"[" + encode_message(Message(MessageType.ALIVE, role="last")) + b"]")
    bus = AmqpBus()
    role = Coordinator(bus)
    turn(lambda: role.receive(0.2), lambda: RoleLife.objects.filter(name="last").exists())
    bus.close()
    assert queue.waiting == 0
    assert not ParkedMessage.objects.exists()
    assert LogEntry.objects.filter(subject=COORDINATOR).count() >= len(BODIES) - 1


def test_rings(channel: BlockingChannel, servers: ServerAddresses, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker of Celery, which reads its queue by another client."""
    app: Any = celery.app
    rang = threading.Event()
    monkeypatch.setattr(app.conf, "broker_url", servers.amqp)

    def note() -> None:
        rang.set()

    ring = app.task(name="test.ring")(note)
    with app.connection_for_write(servers.amqp) as connection:
        app.amqp.queues[celery.QUEUE](connection.default_channel).declare()
        queue = Queue(channel, celery.QUEUE)
        queue.send_everything(b"[[], {}, {}]")
        for headers in ODD_TASKS.values():
            for content_type in ({}, {"content_type": b"application/json"}):
                for body in (b"[[], {}, {}]", b"{}", b"[", b"7"):
                    queue.send(body, encode_properties(headers=headers, **content_type))
        ring.apply_async(connection=connection)

    def work() -> None:
        with start_worker(app, perform_ping_check=False, shutdown_timeout=60):
            assert rang.wait(60), "the worker did not get there"

    # Apart, for a worker that starts has threads and a fate of its own.
    try:
        assert _run_apart(work) == 0
    finally:
        app.tasks.pop("test.ring")
    assert wait_until(lambda: queue.waiting == 0, 10), "nothing was given back"


def test_a_message_that_pika_cannot_decode_arrives_without_its_headers(channel: BlockingChannel) -> None:
    make_sensor()
    queue = Queue(channel, SIGNALS)
    queue.send(json.dumps(GOOD).encode(), PROPERTIES["headers:milliseconds"])
    consume(lambda: Event.objects.exists())
    assert queue.waiting == 0


def test_signals_that_fail_for_no_known_reason_are_parked_and_the_line_goes_on(
    channel: BlockingChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_sensor()
    real = apply_signals

    def choke(items: list[Any], **options: Any) -> Any:
        if any(getattr(item, "id", "") == "bad" for item in items):
            raise ZeroDivisionError("a bug")
        return real(items, **options)

    monkeypatch.setattr(consumer, "apply_signals", choke)
    queue = Queue(channel, SIGNALS)
    for name in (b"a", b"bad", b"b"):
        queue.send(json.dumps(GOOD).encode(), encode_properties(message_id=name, timestamp=int(time.time())))
    with pytest.raises(ZeroDivisionError):
        consume(lambda: False)
    consume(lambda: ParkedMessage.objects.exists() and queue.waiting == 0)
    parked = ParkedMessage.objects.get()
    assert (parked.queue, parked.properties["message_id"]) == (SIGNALS, "bad")
    assert bytes(parked.body) == json.dumps(GOOD).encode()
    assert Alert.objects.get().subject == f"queue/{SIGNALS}"
    assert SensorState.objects.get().last_id == "b"


def test_a_message_that_kills_its_consumer_each_time_is_parked_and_the_line_goes_on(
    channel: BlockingChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed for good, in a process of its own: nothing is left to run but the broker and the database."""
    make_sensor()
    real = apply_signals

    def die(items: list[Any], **options: Any) -> Any:
        if any(getattr(item, "id", "") == "bad" for item in items):
            os.kill(os.getpid(), signal_module.SIGKILL)
        return real(items, **options)

    monkeypatch.setattr(consumer, "apply_signals", die)
    queue = Queue(channel, SIGNALS)
    for name in (b"a", b"bad", b"b"):
        queue.send(json.dumps(GOOD).encode(), encode_properties(message_id=name, timestamp=int(time.time())))
    deaths = 0
    while _run_apart(lambda: consume(lambda: SensorState.objects.filter(last_id="b").exists(), seconds=60)) != 0:
        deaths += 1
        assert deaths <= LIMIT + 1, "it goes on for ever"
    assert deaths == LIMIT + 1, "the first of them nobody had counted"
    parked = ParkedMessage.objects.get()
    assert (parked.properties["message_id"], parked.error) == ("bad", DIED)
    assert wait_until(lambda: queue.waiting == 0, 60)
    assert Alert.objects.get().subject == f"queue/{SIGNALS}"


def _run_apart(run: Callable[[], None]) -> int:
    """Run in a process of its own; return its exit code, which is negative where a signal has ended it."""
    close_all_connections()
    child = os.fork()
    if not child:
        try:
            run()
            os._exit(0)
        except BaseException:  # noqa: BLE001  (whatever it is, the child must not go on with the tests)
            traceback.print_exc()
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, -signal_module.SIGKILL)
    return code


def test_history_that_fails_for_no_known_reason_is_parked_and_the_line_goes_on(
    channel: BlockingChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = write_signals

    def choke(store: Any, signals: list[Signal], unreadable: Any) -> None:
        if signal(1) in signals:
            raise ZeroDivisionError("a bug")
        real(store, signals, unreadable)

    monkeypatch.setattr(history_consumer, "write_signals", choke)
    queue = Queue(channel, HISTORY)
    for number in range(3):
        queue.send(encode_batch([signal(number)]))
    taking = HistoryConsumer()
    with pytest.raises(ZeroDivisionError):
        turn(taking.run_once, lambda: False)
    turn(taking.run_once, lambda: ParkedMessage.objects.exists())
    taking.close()
    assert bytes(ParkedMessage.objects.get().body) == encode_batch([signal(1)])
    assert get_store().read_signals(["0xA"], Period(), limit=9) == [signal(2), signal(0)]
    assert queue.waiting == 0


def test_an_event_that_fails_for_no_known_reason_is_parked_and_the_line_goes_on(
    channel: BlockingChannel, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = receive_event

    def choke(**fields: Any) -> Any:
        if fields["type"] == "custom.bad":
            raise DataError("cannot be stored")
        return real(**fields)

    monkeypatch.setattr(workflows, "receive_event", choke)
    queue = Queue(channel, workflows.QUEUE)
    queue.send(b'{"type": "custom.bad"}')
    queue.send(b'{"type": "custom.good"}')
    taking = EventConsumer()
    with pytest.raises(DataError):
        taking.consume_once()
    turn(taking.consume_once, lambda: Event.objects.filter(type="custom.good").exists())
    taking.close()
    assert bytes(ParkedMessage.objects.get().body) == b'{"type": "custom.bad"}'
    assert queue.waiting == 0


def test_an_envelope_that_a_role_dies_of_is_parked_and_the_line_goes_on(channel: BlockingChannel) -> None:
    queue = Queue(channel, COORDINATOR)
    queue.send(b"[" + encode_message(Message(MessageType.ALIVE, role="bad")) + b"]")
    queue.send(b"[" + encode_message(Message(MessageType.ALIVE, role="good")) + b"]")
    heard: list[str] = []
    for _ in range(20):
        bus = AmqpBus()
        taken = bus.receive(COORDINATOR, most=500, wait=2.0)
        heard = [message.role for message in taken.messages]
        if "bad" not in heard:
            taken.done()
        bus.close()  # the role has died of it
        if heard == ["good"]:
            break
    assert heard == ["good"]
    assert b"bad" in bytes(ParkedMessage.objects.get().body)


def test_msgspec_and_pika_are_used_as_tested() -> None:
    """The bodies above are odd for these decoders; others may need others."""
    with pytest.raises((msgspec.MsgspecError, UnicodeDecodeError)):
        msgspec.json.decode(BODIES["no_text"])
    assert BasicProperties().encode()
