"""Queues of RabbitMQ: durable, confirmed when written, acknowledged when what they said has been committed.

One AMQP message is an envelope of many: a role answers a hundred events in one turn, and each envelope costs as much as
a single one would. It is kept for ten minutes: whatever matters is sent again every ten seconds, so behind a role that
is away for a day nothing would pile up but repeats. An envelope that comes a second time comes alone, and its tries are
counted (`notifications.services.poison`): a role that dies of one gets past it.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog
from django.utils.translation import gettext_noop
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pika.exceptions import AMQPError
from pika.spec import BasicProperties

from config.audit.log import NewLogEntry, write_log_entries
from config.common.text import clean_error
from config.engines.amqp import connect
from config.engines.amqp_messages import REJECTED, AmqpMessage, read_message
from config.engines.publisher import NotPublished, NotRouted, Publisher, Sent
from config.records.models import LogEntry
from notifications.services.poison import (
    clear_counts,
    count_attempts,
    exceeds_limit,
    park_message,
    uncount_attempts,
)
from processes.coordination.protocol.messages import (
    COORDINATOR,
    WRITER,
    Message,
    OutgoingMessage,
    decode_messages,
    encode_message,
    queue_of_reader,
)
from processes.coordination.schema.routing import reader_names

ENVELOPE = 100
"""So many messages in one; each may hold a page of payloads."""
LARGEST = 1 << 20
"""So many bytes in one, unless a single message has more."""
UNREAD = 20
KEPT_MILLISECONDS = 600_000
CONFIRMED_WITHIN = 5.0
"""Seconds that the broker has for a message."""
UNREADABLE = gettext_noop("A message in the queue %(queue)s cannot be read: %(cause)s")

log = structlog.get_logger(__name__)
_publisher = Publisher()


class AmqpBus:
    """One role's line to the broker: for one thread."""

    def __init__(self) -> None:
        self._connection: BlockingConnection | None = None
        self._channel: BlockingChannel | None = None
        self._consumed = ""
        self._arrived: deque[AmqpMessage] = deque()

    def send(self, messages: list[OutgoingMessage]) -> None:
        by_queue: defaultdict[str, list[Message]] = defaultdict(list)
        for queue, message in messages:
            by_queue[queue].append(message)
        on_their_way = [
            (queue, envelope, _send(queue, envelope))
            for queue, of_queue in by_queue.items()
            for envelope in _envelopes(map(encode_message, of_queue))
        ]
        try:
            for queue, envelope, sent in on_their_way:
                self._await_confirmation(queue, envelope, sent)
        finally:
            for _, _, sent in on_their_way:
                sent.cancel()  # what has not left by now is sent again from its row

    def receive(self, queue: str, *, most: int, wait: float) -> "_Taken":
        connection, channel = self._open(queue)
        if not self._arrived:
            connection.process_data_events(time_limit=wait)
        try:
            return self._take(channel, most)
        except BaseException:
            # What was taken out here must not stay on the channel: a later acknowledgement would cover it.
            self.close()
            raise

    def _take(self, channel: BlockingChannel, most: int) -> "_Taken":
        messages, tag = list[Message](), 0
        while self._arrived and len(messages) < most:
            if self._arrived[0].was_delivered:
                return _Taken(self, channel, tag, messages) if messages else self._take_redelivered(channel)
            envelope = self._arrived.popleft()
            tag = envelope.tag
            messages += _read(envelope)
        return _Taken(self, channel, tag, messages)

    def _take_redelivered(self, channel: BlockingChannel) -> "_Taken":
        """Take one envelope alone; the count of its tries is written before it is read."""
        envelope = self._arrived.popleft()
        failures = count_attempts([envelope])[envelope.digest]
        if exceeds_limit(failures):
            park_message(envelope, failures)
            return _Taken(self, channel, envelope.tag, [])
        return _Taken(self, channel, envelope.tag, _read(envelope), (envelope,))

    def close(self) -> None:
        connection, self._connection, self._channel = self._connection, None, None
        self._arrived.clear()
        if connection is not None and connection.is_open:
            connection.close()

    def _await_confirmation(self, queue: str, envelope: bytes, sent: Sent) -> None:
        try:
            sent.await_confirmation(CONFIRMED_WITHIN)
        except NotRouted:
            self._declare(queue)
            _send(queue, envelope).await_confirmation(CONFIRMED_WITHIN)

    def _declare(self, queue: str) -> None:
        """The queue is not there yet: whoever comes first makes it."""
        try:
            connection = connect()
            try:
                connection.channel().queue_declare(queue, durable=True)
            finally:
                connection.close()
        except (AMQPError, OSError) as error:
            raise NotPublished(f"RabbitMQ cannot be reached: {error!r}") from error

    def _open(self, queue: str) -> tuple[BlockingConnection, BlockingChannel]:
        connection, channel = self._connection, self._channel
        # Without a tag the broker has ended the delivery: the queue was deleted, and may be there again.
        delivers = channel is not None and channel.is_open and channel.consumer_tags
        if connection is not None and channel is not None and self._consumed == queue and delivers:
            return connection, channel
        self.close()
        connection = connect()
        channel = connection.channel()
        for name in (WRITER, COORDINATOR, *map(queue_of_reader, reader_names())):
            channel.queue_declare(name, durable=True)
        channel.basic_qos(prefetch_count=UNREAD)
        channel.basic_consume(queue, self._arrive)
        self._connection, self._channel, self._consumed = connection, channel, queue
        return connection, channel

    def _arrive(self, channel: Any, method: Any, properties: Any, body: bytes) -> None:
        self._arrived.append(read_message(self._consumed, method, properties, body))


@dataclass(frozen=True)
class _Taken:
    bus: AmqpBus
    channel: BlockingChannel
    tag: int
    messages: list[Message]
    counted: tuple[AmqpMessage, ...] = ()

    def done(self) -> None:
        if self.counted:
            clear_counts(self.counted)
        if self.tag:
            self.channel.basic_ack(self.tag, multiple=True)

    def give_back(self) -> None:
        """Close the line: the broker gives whatever is not acknowledged to the next who asks."""
        self.bus.close()
        if self.counted:
            uncount_attempts(self.counted)


def _send(queue: str, body: bytes) -> Sent:
    properties = BasicProperties(
        content_type="application/json", delivery_mode=2, app_id="postern", expiration=str(KEPT_MILLISECONDS)
    )
    return _publisher.send(body, exchange="", routing_key=queue, properties=properties)


def _envelopes(messages: Iterable[bytes]) -> Iterator[bytes]:
    """Join messages into JSON lists, each bounded in number and in bytes."""
    inside: list[bytes] = []
    size = 0
    for message in messages:
        if inside and (len(inside) == ENVELOPE or size + len(message) > LARGEST):
            yield b"[" + b",".join(inside) + b"]"
            inside, size = [], 0
        inside.append(message)
        size += len(message)
    yield b"[" + b",".join(inside) + b"]"


def _read(envelope: AmqpMessage) -> list[Message]:
    """Read the messages of an envelope; one that cannot be read is noted and passed over."""
    try:
        return decode_messages(envelope.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        cause = clean_error(error, 300)
        log.error("coordination.unreadable", error=cause, size=len(envelope.body))
        REJECTED.labels(envelope.queue).inc()
        detail = {"queue": envelope.queue, "cause": cause}
        write_log_entries(
            [NewLogEntry(LogEntry.Level.WARNING, LogEntry.Kind.REFUSED, UNREADABLE, detail, envelope.queue)]
        )
        return []
