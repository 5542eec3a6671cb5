"""The border to RabbitMQ: messages come late and again, connections are lost, and what was not confirmed may be gone.

Publishing is watched where a message is handed over, consuming where pika's blocking connection is used. A consumer
that stands still for longer than its heartbeat is cut off; what it had goes back to its place in the queue.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from pika.exceptions import (
    AMQPConnectionError,
    ChannelClosedByBroker,
    ConnectionClosedByBroker,
    ConnectionWrongStateError,
)

from config.common.database.leases import lease_clock
from config.engines.amqp import HEARTBEAT_SECONDS
from config.engines.publisher import NotPublished, Overdue, Publisher, Sent
from tests.simulation.scheduler import Scheduler

CONNECTED_BY = (
    "sensors.ingest.consumer",
    "sensors.ingest.signal_queue",
    "sensors.history.consumer",
    "processes.coordination.bus.amqp",
)
PREFETCH = 6
UNHEARD_SECONDS = 5.0
"""How long a publisher waits for a broker that has not heard it."""


@dataclass
class Letter:
    number: int
    body: bytes
    properties: Any
    is_redelivered: bool = False


@dataclass
class Queue:
    name: str
    owner: "Connection | None" = None
    """The connection that it lives as long as."""
    ready: deque[Letter] = field(default_factory=deque)

    def put_back(self, letters: list[Letter]) -> None:
        for letter in letters:
            letter.is_redelivered = True
        self.ready = deque(sorted([*letters, *self.ready], key=lambda each: each.number))


class SimulatedBroker:
    def __init__(self, scheduler: Scheduler, bindings: dict[str, str], *, loss: float = 0.0) -> None:
        self.scheduler = scheduler
        self._loss = loss
        """How many of the messages it loses although it has confirmed them, for those who promise to bear that."""
        self.queues: dict[str, Queue] = {}
        self.connections: list[Connection] = []
        self._bindings = bindings
        """The queue of each exchange."""
        self._count = 0
        self._arrival: dict[int, float] = {}

    @contextmanager
    def in_place(self) -> Iterator[None]:
        def send(_: Publisher, body: bytes, **address: Any) -> Sent:
            return self.send(body, **address)

        with ExitStack() as stack:
            stack.enter_context(patch.object(Publisher, "send", send))
            stack.enter_context(patch.object(Publisher, "close", lambda _: None))
            for module in CONNECTED_BY:
                stack.enter_context(patch(f"{module}.connect", self.connect))
            yield

    def send(
        self, body: bytes, *, exchange: str, routing_key: str, properties: Any = None, until: float = math.inf
    ) -> Sent:
        """Take a message, or lose it on its way; confirm it, or lose that. Those of one process keep their order."""
        scheduler = self.scheduler
        sent = Sent(exchange, routing_key, body, properties, until)
        sent.outcome.set_running_or_notify_cancel()
        scheduler.point("publishes", f"to {exchange or routing_key}, {len(body)} bytes")
        if lease_clock() >= until:
            sent.fail(Overdue("the lease of its sender has ended"))
            return sent
        fate = 1.0 if scheduler.is_calm else scheduler.chance("publishing")
        pid = scheduler.process().pid
        at = max(scheduler.now + scheduler.chance("way") ** 4 * 3, self._arrival.get(pid, 0.0))
        self._arrival[pid] = at
        if fate < 0.03:
            scheduler.later(UNHEARD_SECONDS, lambda: sent.fail(NotPublished("the connection was lost")))
            return sent

        def arrive() -> None:
            self._count += 1
            letter = Letter(self._count, body, properties)
            if fate >= 0.06 + self._loss:
                self._queue(self._bindings.get(exchange, routing_key)).ready.append(letter)
            self.push()
            if fate < 0.06:
                scheduler.later(UNHEARD_SECONDS, lambda: sent.fail(NotPublished("the connection was lost")))
            else:
                scheduler.later(0.01, lambda: None if sent.outcome.done() else sent.outcome.set_result(None))

        scheduler.later(at - scheduler.now, arrive)
        return sent

    def connect(self, **_: Any) -> "Connection":
        self.scheduler.point("connects to the broker")
        self.cut_silent()
        connection = Connection(self)
        self.connections.append(connection)
        return connection

    def cut_silent(self) -> None:
        """Cut off whoever has stood still for too long."""
        now = self.scheduler.now
        for connection in list(self.connections):
            process = connection.process
            if process.stopped_until > now > process.stopped_at + 2 * HEARTBEAT_SECONDS:
                connection.cut()

    def push(self) -> None:
        """Hand out what is ready, to whoever has the least of it."""
        self.cut_silent()
        for queue in self.queues.values():
            while queue.ready:
                takers = [
                    channel
                    for connection in self.connections
                    for channel in connection.channels
                    if channel.consumes is queue and len(channel.unacknowledged) < PREFETCH
                ]
                if not takers:
                    break
                min(takers, key=lambda channel: len(channel.unacknowledged)).take(queue.ready.popleft())

    def is_empty(self) -> bool:
        return not any(queue.ready for queue in self.queues.values()) and not any(
            channel.unacknowledged for connection in self.connections for channel in connection.channels
        )

    def _queue(self, name: str) -> Queue:
        return self.queues.setdefault(name, Queue(name))


class Connection:
    """What pika's `BlockingConnection` is to the product."""

    def __init__(self, broker: SimulatedBroker) -> None:
        self.broker, self.process = broker, broker.scheduler.process()
        self.channels: list[Channel] = []
        self.is_open = True
        self._callbacks: list[Callable[[], None]] = []
        self.process.at_death.append(self.cut)

    def channel(self) -> "Channel":
        self.meet("opens a channel")
        channel = Channel(self)
        self.channels.append(channel)
        return channel

    def process_data_events(self, time_limit: float | None = 0) -> None:
        self.meet("hears the broker")
        scheduler = self.broker.scheduler
        scheduler.wait(lambda: not self.is_open or bool(self._callbacks) or self._has_news(), time_limit)
        self.check_open()
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback()
        for channel in self.channels:
            channel.dispatch()

    def sleep(self, seconds: float) -> None:
        until = self.broker.scheduler.now + seconds
        while self.broker.scheduler.now < until:
            self.process_data_events(until - self.broker.scheduler.now)

    def add_callback_threadsafe(self, callback: Callable[[], None]) -> None:
        if not self.is_open:
            raise ConnectionWrongStateError("closed")
        self._callbacks.append(callback)

    def close(self) -> None:
        self.check_open()
        self.cut()

    def cut(self) -> None:
        """End it: what it had not acknowledged goes back, and the queues that lived with it are gone."""
        if not self.is_open:
            return
        self.is_open = False
        broker = self.broker
        broker.connections.remove(self)
        for channel in self.channels:
            channel.give_back()
        for name in [name for name, queue in broker.queues.items() if queue.owner is self]:
            del broker.queues[name]
        broker.push()

    def meet(self, what: str) -> None:
        """Pass a side effect at which the connection may be lost."""
        if self.broker.scheduler.point(what, possible=("broker",), weight=0.5) == "broker":
            self.cut()
            raise AMQPConnectionError("the connection was lost")
        self.check_open()

    def check_open(self) -> None:
        if not self.is_open:
            raise ConnectionClosedByBroker(320, "cut off")

    def _has_news(self) -> bool:
        return any(channel.inbox for channel in self.channels)


class Channel:
    """What pika's `BlockingChannel` is to the product."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.consumes: Queue | None = None
        self.unacknowledged: dict[int, tuple[Queue, Letter]] = {}
        self.inbox: deque[Callable[[], None]] = deque()
        """What the broker has sent, in its order, and nobody has read yet."""
        self.consumer_tags: list[str] = []
        self._tag = 0
        self._receive: Callable[..., None] | None = None
        # What the product asks past the blocking channel, without waiting for the answer.
        self._impl = SimpleNamespace(queue_declare=self._ask, basic_qos=lambda **_: None)

    @property
    def is_open(self) -> bool:
        return self.connection.is_open

    def exchange_declare(self, exchange: str, **_: Any) -> None:
        self.connection.meet("declares an exchange")

    def queue_bind(self, queue: str, exchange: str, **_: Any) -> None:
        self.connection.meet("binds a queue")

    def basic_qos(self, **_: Any) -> None:
        pass

    def queue_declare(self, name: str, *, passive: bool = False, exclusive: bool = False, **_: Any) -> Any:
        self.connection.meet("asks for a queue" if passive else "declares a queue")
        broker = self.connection.broker
        found = broker.queues.get(name)
        if found is None and passive:
            raise ChannelClosedByBroker(404, "there is no such queue")
        if found is not None and found.owner not in (None, self.connection):
            raise ChannelClosedByBroker(405, "it is another's")
        if found is None:
            found = broker.queues[name] = Queue(name, self.connection if exclusive else None)
        return SimpleNamespace(method=SimpleNamespace(queue=name, message_count=len(found.ready)))

    def basic_consume(self, queue: str, callback: Callable[..., None]) -> str:
        self.connection.meet("consumes")
        self.consumes, self._receive = self.connection.broker.queues[queue], callback
        self.consumer_tags = ["tag"]
        self.connection.broker.push()
        return "tag"

    def basic_cancel(self, tag: str) -> None:
        self.connection.meet("consumes no more")
        self.consumes, self.consumer_tags = None, []
        self.dispatch()

    def basic_get(self, queue: str) -> tuple[Any, Any, Any]:
        self.connection.meet("asks for a message")
        found = self.connection.broker.queues[queue]
        if not found.ready:
            return None, None, None
        method, letter = self._hold(found, found.ready.popleft())
        return method, letter.properties, letter.body

    def basic_ack(self, tag: int, multiple: bool = False) -> None:
        self.connection.meet("acknowledges")
        self._let_go(tag, multiple)
        self.connection.broker.push()

    def basic_nack(self, tag: int, multiple: bool = False, requeue: bool = True) -> None:
        self.connection.meet("gives back")
        for queue, letter in self._let_go(tag, multiple):
            queue.put_back([letter])
        self.connection.broker.push()

    def take(self, letter: Letter) -> None:
        """Have a message handed out by the broker."""
        assert self.consumes is not None
        method, _ = self._hold(self.consumes, letter)
        receive = self._receive
        assert receive is not None
        self.inbox.append(lambda: receive(self, method, letter.properties, letter.body))

    def dispatch(self) -> None:
        while self.inbox:
            self.inbox.popleft()()

    def give_back(self) -> None:
        for queue, letter in self._let_go(0, multiple=True):
            queue.put_back([letter])
        self.inbox.clear()

    def _hold(self, queue: Queue, letter: Letter) -> tuple[Any, Letter]:
        self._tag += 1
        self.unacknowledged[self._tag] = (queue, letter)
        return SimpleNamespace(delivery_tag=self._tag, redelivered=letter.is_redelivered), letter

    def _let_go(self, tag: int, multiple: bool) -> list[tuple[Queue, Letter]]:
        tags = [each for each in self.unacknowledged if each == tag or (multiple and (tag == 0 or each <= tag))]
        return [self.unacknowledged.pop(each) for each in tags]

    def _ask(self, name: str, *, passive: bool, callback: Callable[[Any], None]) -> None:
        """Ask the queue: the answer comes behind all that it has handed out here before."""
        self.connection.meet("asks the queue")
        self.inbox.append(lambda: callback(None))
