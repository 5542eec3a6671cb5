"""Events from RabbitMQ: fetched, written into the outbox, acknowledged. In that order.

A crash in between repeats the message, and its id makes the repeat harmless. What cannot be used is logged and
acknowledged. When the database is away the message goes back to the queue; so does one that fails in another way, and
when it comes again its tries are counted (`notifications.services.poison`).
"""

from typing import Any

import msgspec
import structlog
from django.db import DatabaseError, InterfaceError
from django.utils import timezone
from django.utils.translation import gettext_noop
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pika.exceptions import AMQPError

from config.audit.log import write_log_entry
from config.common.correlation import PATTERN, correlated
from config.common.database.failures import is_database_away
from config.common.errors import ApplicationError
from config.common.text import clean_text
from config.common.web.json_codec import decode_json
from config.engines.amqp import connect
from config.engines.amqp_messages import REJECTED, AmqpMessage, read_message
from config.records.models import LogEntry
from notifications.services.poison import EngineUnavailable, handle_redelivered
from processes.workflows.services.events.receive import receive_event
from processes.workflows.services.events.starts import KIND
from processes.workflows.services.topology import QUEUE, declare_topology

BATCH = 200
LARGEST = 1_048_576
REFUSED = gettext_noop("An event of %(source)s was refused: %(cause)s")

log = structlog.get_logger(__name__)


class _Wanted(msgspec.Struct, forbid_unknown_fields=True):
    type: str
    id: str | None = None
    record: str = ""
    payload: Any = None


class EventConsumer:
    """One consumer of the queue, on a connection that is kept from turn to turn."""

    def __init__(self, queue: str = QUEUE) -> None:
        self._queue = queue
        self._connection: BlockingConnection | None = None
        self._channel: BlockingChannel | None = None

    def take_once(self) -> bool:
        """Take what lies in the queue; return whether there may be more."""
        try:
            channel = self._open()
            for _ in range(BATCH):
                method, properties, body = channel.basic_get(self._queue)
                if method is None:
                    return False
                self._take(channel, read_message(self._queue, method, properties, body))
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

    def _take(self, channel: BlockingChannel, message: AmqpMessage) -> None:
        try:
            if message.was_delivered:
                handle_redelivered([message], _take_again, away=EngineUnavailable)
            else:
                receive_message(message)
        except Exception:
            channel.basic_nack(message.tag, requeue=True)
            raise
        channel.basic_ack(message.tag)


def _take_again(messages: list[AmqpMessage]) -> None:
    for message in messages:
        try:
            receive_message(message)
        except (DatabaseError, InterfaceError) as error:
            if not is_database_away(error):
                raise
            raise EngineUnavailable from error


def receive_message(message: AmqpMessage) -> None:
    """Receive the event of one message; its own id is `message_id`, where it has one."""
    chain, app, own_id = message.text("correlation_id"), message.text("app_id"), message.text("message_id")
    source = f"amqp:{app}" if app else "amqp"
    with correlated(chain if PATTERN.fullmatch(chain) else None):
        try:
            wanted = _read(message.body)
            receive_event(
                source=source,
                type=wanted.type,
                id=own_id or wanted.id,
                record=wanted.record,
                payload=wanted.payload,
                at=timezone.now(),
            )
        except (ApplicationError, msgspec.ValidationError) as error:
            REJECTED.labels(message.queue).inc()
            cause = clean_text(f"{error} {getattr(error, 'data', '')}", 300)
            told = {"source": source, "cause": cause, "id": own_id[:200]}
            write_log_entry(level=LogEntry.Level.WARNING, kind=KIND, subject="amqp", template=REFUSED, data=told)


def _read(body: bytes) -> _Wanted:
    if len(body) > LARGEST:
        raise msgspec.ValidationError("the body is too large")
    return msgspec.convert(decode_json(body), _Wanted)
