"""Workflow events over RabbitMQ: consumed into the outbox from `workflows.in`, published from it to `workflows.out`.

Incoming: a message is fetched, written into the outbox, acknowledged, in that order. A crash in between repeats the
message, and its id makes the repeat harmless. What cannot be used is logged and acknowledged. When the database is away
the message goes back to the queue; so does one that fails in another way, and when it comes again its tries are counted
(`notifications.services.poison`).

Outgoing: an event is published after its commit, with a publisher confirm, under an id that repeats share.
"""

import threading
from collections.abc import Sequence
from typing import Any

import msgspec
import structlog
from django.db import DatabaseError, InterfaceError
from django.utils import timezone
from django.utils.translation import gettext_noop
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pika.exceptions import AMQPError
from pika.spec import BasicProperties

from config.audit.log import write_log_entry
from config.common.correlation import PATTERN, correlated
from config.common.database.failures import is_database_away
from config.common.database.leases import LeaseLost, held_until
from config.common.errors import ApplicationError
from config.common.text import clean_text, cut_bytes
from config.common.times import format_time
from config.common.web.json_codec import decode_json
from config.engines.amqp import connect
from config.engines.amqp_messages import REJECTED, AmqpMessage, read_message
from config.engines.publisher import ChannelClosed, NotPublished, NotRouted, Overdue, Publisher
from config.records.models import LogEntry
from notifications.errors import FollowerWaits
from notifications.followers import Following
from notifications.models import Event
from notifications.services.poison import EngineUnavailable, handle_redelivered
from processes.workflows.engine.event_names import CUSTOM_PREFIX
from processes.workflows.ids import public_id
from processes.workflows.services.events.receive import receive_event
from processes.workflows.services.events.starts import KIND

IN_EXCHANGE = "workflows.in"
QUEUE = "workflows.events"
OUT_EXCHANGE = "workflows.out"
CONSUME_BATCH = 200
LARGEST = 1_048_576
REFUSED = gettext_noop("An event from %(source)s was refused: %(cause)s")
PUBLISH_SECONDS = 5.0
PUBLISH_BATCH = 10
"""So many, each confirmed as late as it may be, stay within the lease of the relay."""
LONGEST_KEY = 255
"""Bytes of a routing key: AMQP's short string."""

log = structlog.get_logger(__name__)
_publisher = Publisher()
_declared = threading.Event()


def declare_topology(channel: BlockingChannel) -> None:
    for exchange in (IN_EXCHANGE, OUT_EXCHANGE):
        channel.exchange_declare(exchange, exchange_type="topic", durable=True)
    channel.queue_declare(QUEUE, durable=True)
    channel.queue_bind(QUEUE, IN_EXCHANGE, routing_key="#")


class EventConsumer:
    """One consumer of the queue, on a connection that is kept from turn to turn."""

    def __init__(self, queue: str = QUEUE) -> None:
        self._queue = queue
        self._connection: BlockingConnection | None = None
        self._channel: BlockingChannel | None = None

    def consume_once(self) -> bool:
        """Receive what lies in the queue; return whether there may be more."""
        try:
            channel = self._open()
            for _ in range(CONSUME_BATCH):
                method, properties, body = channel.basic_get(self._queue)
                if method is None:
                    return False
                self._consume(channel, read_message(self._queue, method, properties, body))
        except AMQPError as error:
            log.warning("workflows.in_disconnected", error=repr(error))
            self.close()
            return False
        return True

    def close(self) -> None:
        connection, self._connection, self._channel = self._connection, None, None
        if connection is not None and connection.is_open:
            connection.close()

    def _open(self) -> BlockingChannel:
        if self._channel is None or not self._channel.is_open:
            self.close()
            self._connection = connect()
            self._channel = self._connection.channel()
            declare_topology(self._channel)
        return self._channel

    def _consume(self, channel: BlockingChannel, message: AmqpMessage) -> None:
        try:
            if message.was_delivered:
                handle_redelivered([message], _receive_again, away=EngineUnavailable)
            else:
                receive_message(message)
        except Exception:
            channel.basic_nack(message.tag, requeue=True)
            raise
        channel.basic_ack(message.tag)


def _receive_again(messages: list[AmqpMessage]) -> None:
    for message in messages:
        try:
            receive_message(message)
        except (DatabaseError, InterfaceError) as error:
            if not is_database_away(error):
                raise
            raise EngineUnavailable from error


class _MessageBody(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    id: str | None = None
    record: str = ""
    payload: Any = None


def receive_message(message: AmqpMessage) -> None:
    """Receive the event of one message; the `message_id` property counts before an id in the body."""
    chain, app, message_id = message.text("correlation_id"), message.text("app_id"), message.text("message_id")
    source = f"amqp:{app}" if app else "amqp"
    with correlated(chain if PATTERN.fullmatch(chain) else None):
        try:
            if len(message.body) > LARGEST:
                raise msgspec.ValidationError("the body is too large")
            body = msgspec.convert(decode_json(message.body), _MessageBody)
            receive_event(
                source=source,
                type=body.type,
                id=message_id or body.id,
                record=body.record,
                payload=body.payload,
                at=timezone.now(),
            )
        except (ApplicationError, msgspec.ValidationError) as error:
            REJECTED.labels(message.queue).inc()
            cause = clean_text(f"{error} {getattr(error, 'data', '')}", 300)
            data = {"source": source, "cause": cause, "id": message_id[:200]}
            write_log_entry(level=LogEntry.Level.WARNING, kind=KIND, subject="amqp", template=REFUSED, data=data)


def publish_events(events: Sequence[Event]) -> None:
    """Publish the events that instances have thrown; what came from outside is not sent back."""
    for event in events:
        if event.type.startswith(CUSTOM_PREFIX) and event.payload.get("instance"):
            _publish(event)


def _publish(event: Event) -> None:
    try:
        _declare_once()
        _publisher.publish(
            _encode(event),
            exchange=OUT_EXCHANGE,
            routing_key=cut_bytes(event.type, LONGEST_KEY),
            properties=BasicProperties(
                content_type="application/json",
                delivery_mode=2,
                message_id=_get_message_id(event),
                correlation_id=event.correlation_id or None,
                app_id="postern",
            ),
            deadline=PUBLISH_SECONDS,
            # A confirm that comes after the relay's lease would let another relay publish a later event first.
            until=held_until(),
        )
    except Overdue as error:
        raise LeaseLost(str(error)) from error
    except NotRouted:
        # No queue is bound for this type: nobody wants it.
        log.debug("workflows.out_unheard", type=event.type)
    except ChannelClosed as error:
        # RabbitMQ closes the channel of whoever publishes to an exchange that it has lost: declare it anew next time.
        _declared.clear()
        raise FollowerWaits(str(error)) from error
    except NotPublished as error:
        raise FollowerWaits(str(error)) from error


def _declare_once() -> None:
    """Declare the topology on a short connection: the publisher keeps its channel to itself."""
    if _declared.is_set():
        return
    try:
        connection = connect()
        try:
            declare_topology(connection.channel())
        finally:
            connection.close()
    except (AMQPError, OSError) as error:
        raise NotPublished(f"RabbitMQ cannot be reached: {error!r}") from error
    _declared.set()


def _encode(event: Event) -> bytes:
    body: dict[str, Any] = event.payload
    return msgspec.json.encode(
        {
            "id": _get_message_id(event),
            "type": event.type,
            "record": body["record"],
            "payload": body["payload"],
            "instance": body["instance"],
            "definition": body["definition"],
            "at": format_time(event.at),
            "correlation_id": event.correlation_id,
        }
    )


def _get_message_id(event: Event) -> str:
    """Return the id that repeats share; events from before there were message ids have their effect's."""
    return event.payload.get("message_id") or public_id(event.payload["instance"], event.payload["effect"])


PUBLISHER = Following(name=OUT_EXCHANGE, handle=publish_events, outside=True, batch=PUBLISH_BATCH)
