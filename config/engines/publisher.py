"""Confirmed publishing to RabbitMQ."""

import math
import threading
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog
from pika.adapters.select_connection import SelectConnection
from pika.channel import Channel
from pika.spec import Basic, BasicProperties

from config.common.background.per_process import PerProcess
from config.common.background.supervision import SupervisedThread
from config.common.database.leases import lease_clock
from config.engines.amqp import CONNECT_SECONDS, parameters

log = structlog.get_logger(__name__)

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 5.0


class NotPublished(Exception):
    """The broker did not confirm the message: it may be lost, and may have been taken."""


class NotRouted(NotPublished):
    """No queue is bound for the message: the broker gave it back."""


class Overdue(NotPublished):
    """The message was held back until the lease of its sender had ended: somebody else may have sent it, and more."""


class ChannelClosed(NotPublished):
    """The broker closed the channel over a message: its exchange does not exist."""


@dataclass(frozen=True, eq=False)
class Sent:
    """A message on its way to the broker."""

    exchange: str
    routing_key: str
    body: bytes
    properties: BasicProperties | None
    until: float = math.inf
    """By `lease_clock`: from then on it must not leave any more."""
    outcome: "Future[None]" = field(default_factory=Future)

    def await_confirmation(self, seconds: float) -> None:
        """Return when the broker has confirmed; raise `NotPublished` unless it does so in time."""
        try:
            self.outcome.result(seconds)
        except TimeoutError:
            self.cancel()
            raise NotPublished(f"RabbitMQ has not confirmed within {seconds:g} s.") from None

    def cancel(self) -> None:
        """Drop the message if it has not left yet."""
        self.outcome.cancel()

    def fail(self, error: NotPublished) -> None:
        if not self.outcome.done():
            self.outcome.set_exception(error)


class Publisher:
    """Publish from any thread and return when the broker has confirmed; many messages share the way there.

    A thread owns the connection, answers its heartbeats and opens it again when it is lost. While the broker cannot be
    reached every call fails at once instead of waiting for its deadline.
    """

    def __init__(self) -> None:
        self._link = PerProcess(_Link)

    def publish(
        self,
        body: bytes,
        *,
        exchange: str,
        routing_key: str,
        properties: BasicProperties | None = None,
        deadline: float = 5.0,
        until: float = math.inf,
    ) -> None:
        """Publish a message that must reach a queue; raise `NotPublished` unless confirmed within `deadline` s.

        One that is still here at `until`, by `lease_clock`, does not leave: `Overdue`.
        """
        sent = self.send(body, exchange=exchange, routing_key=routing_key, properties=properties, until=until)
        sent.await_confirmation(deadline)

    def send(
        self,
        body: bytes,
        *,
        exchange: str,
        routing_key: str,
        properties: BasicProperties | None = None,
        until: float = math.inf,
    ) -> "Sent":
        """Hand a message over: whoever sends several waits for all of them at once."""
        message = Sent(exchange, routing_key, body, properties, until)
        self._link.get().send(message)
        return message

    def close(self) -> None:
        link = self._link.take()
        if link is not None:
            link.close()


class _Link:
    """The connection of a publisher and the thread that owns it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Sent] = deque()
        self._unconfirmed: dict[int, Sent] = {}
        self._connection: SelectConnection | None = None
        self._channel: Channel | None = None
        self._last_tag = 0
        self._is_away = False
        self._pause = FIRST_PAUSE
        self._closing = threading.Event()
        self._thread = SupervisedThread("amqp-publisher", self._run).start()

    def send(self, message: Sent) -> None:
        with self._lock:
            is_away, connection = self._is_away, self._connection
            if not is_away:
                self._waiting.append(message)
        if is_away:
            message.fail(NotPublished("RabbitMQ cannot be reached."))
        elif connection is not None:
            connection.ioloop.add_callback_threadsafe(self._flush)

    def close(self) -> None:
        self._closing.set()
        connection = self._connection
        if connection is not None:
            connection.ioloop.add_callback_threadsafe(partial(self._say_goodbye, connection))
        self._thread.join(CONNECT_SECONDS)

    # Everything below runs in the link's thread.

    def _run(self) -> None:
        while not self._closing.is_set():
            self._serve_one_connection()
            self._closing.wait(self._pause)
            self._pause = min(self._pause * 2, LONGEST_PAUSE)
        self._give_up(NotPublished("The publisher has been closed."))

    def _serve_one_connection(self) -> None:
        connection = SelectConnection(
            parameters(),
            on_open_callback=self._open_channel,
            on_open_error_callback=self._on_no_connection,
            on_close_callback=self._on_connection_lost,
        )
        with self._lock:
            self._connection = connection
        try:
            connection.ioloop.start()
        finally:
            with self._lock:
                self._connection = None
            # An error of ours ends the loop without a word from the broker: nobody may wait for it.
            self._channel = None
            self._give_up(NotPublished("The connection to RabbitMQ was given up."), waiting=False)
            connection.ioloop.close()

    def _say_goodbye(self, connection: SelectConnection) -> None:
        if connection.is_open:
            connection.close()
        elif not connection.is_closing:
            connection.ioloop.stop()

    def _open_channel(self, connection: Any) -> None:
        connection.channel(on_open_callback=self._on_channel_open)

    def _on_channel_open(self, channel: Channel) -> None:
        channel.add_on_close_callback(self._on_channel_closed)
        channel.add_on_return_callback(self._on_return)
        channel.confirm_delivery(self._on_confirmation, callback=lambda _: self._on_ready(channel))

    def _on_ready(self, channel: Channel) -> None:
        self._channel, self._last_tag = channel, 0
        self._pause = FIRST_PAUSE
        with self._lock:
            self._is_away = False
        log.info("amqp.publisher_connected")
        self._flush()

    def _flush(self) -> None:
        while self._channel is not None and self._channel.is_open and (message := self._next_waiting()):
            # The last look before the bytes leave: this process may have been stopped since they were handed over.
            if lease_clock() >= message.until:
                message.fail(Overdue("The lease of its sender has ended."))
                continue
            self._last_tag += 1
            self._unconfirmed[self._last_tag] = message
            self._channel.basic_publish(
                message.exchange, message.routing_key, message.body, message.properties, mandatory=True
            )

    def _next_waiting(self) -> Sent | None:
        """Take the next message whose caller still waits; from then on the caller cannot cancel it."""
        with self._lock:
            while self._waiting:
                message = self._waiting.popleft()
                if message.outcome.set_running_or_notify_cancel():
                    return message
        return None

    def _on_confirmation(self, frame: Any) -> None:
        tag = frame.method.delivery_tag
        # Tags grow, and so does the order of the dictionary.
        tags = [sent for sent in self._unconfirmed if sent <= tag] if frame.method.multiple else [tag]
        for message in [self._unconfirmed.pop(sent) for sent in tags]:
            if isinstance(frame.method, Basic.Nack):
                message.fail(NotPublished("RabbitMQ refused the message."))
            elif not message.outcome.done():
                message.outcome.set_result(None)

    def _on_return(self, channel: Channel, method: Any, properties: BasicProperties, body: bytes) -> None:
        """Fail the oldest message like the returned one, before its confirmation comes.

        What is returned carries no tag; messages with the same address and body are one another's equals.
        """
        returned = (method.exchange, method.routing_key, body)
        for message in self._unconfirmed.values():
            if not message.outcome.done() and returned == (message.exchange, message.routing_key, message.body):
                message.fail(NotRouted(f"No queue is bound for {method.routing_key} at {method.exchange}."))
                break

    def _on_channel_closed(self, channel: Channel, reason: Exception) -> None:
        """Go on with a new channel: the broker closes one when an exchange does not exist."""
        self._channel = None
        self._give_up(ChannelClosed(f"RabbitMQ closed the channel: {reason}"), waiting=False)
        if channel.connection.is_open:
            self._open_channel(channel.connection)

    def _on_connection_lost(self, connection: Any, reason: Exception) -> None:
        log.warning("amqp.publisher_disconnected", error=str(reason))
        self._channel = None
        self._give_up(NotPublished(f"The connection to RabbitMQ was lost: {reason}"), waiting=False)
        connection.ioloop.stop()

    def _on_no_connection(self, connection: Any, reason: Exception) -> None:
        log.warning("amqp.publisher_not_connected", error=repr(reason), pause_seconds=self._pause)
        with self._lock:
            self._is_away = True
        self._give_up(NotPublished("RabbitMQ cannot be reached."))
        connection.ioloop.stop()

    def _give_up(self, error: NotPublished, *, waiting: bool = True) -> None:
        failed, self._unconfirmed = list(self._unconfirmed.values()), {}
        while waiting and (message := self._next_waiting()):
            failed.append(message)
        for message in failed:
            message.fail(error)
