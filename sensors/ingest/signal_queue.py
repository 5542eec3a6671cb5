"""The exchange and the queue of signals in RabbitMQ: declared before first use, published to, probed.

Whatever is published here is confirmed by the broker, or `NotPublished` is raised; `EngineUnavailable` where the broker
was not asked, because another call is just declaring the queue.
"""

import threading
import time
from collections.abc import Sequence
from datetime import datetime

import msgspec
import pika.exceptions
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pika.spec import BasicProperties

from config.common.background.one_at_a_time import OneAtATime, StillRunning
from config.common.correlation import correlation_id
from config.common.times import format_time, from_milliseconds
from config.engines.amqp import connect
from config.engines.circuit_breaker import EngineUnavailable
from config.engines.publisher import ChannelClosed, NotPublished, NotRouted, Publisher
from sensors.ingest.signals import Signal

EXCHANGE = "signals"
QUEUE = "signals.state"
PROBE = "postern.probe"
NOT_FOUND = 404
PUBLISH_SECONDS = 2.0

_publisher = Publisher()
_declared = threading.Event()
_declaring = threading.Lock()


def publish_signals(signals: list[Signal]) -> None:
    """Publish signals as one durable message; raise `NotPublished` where it is not confirmed within two seconds."""
    body = msgspec.json.encode(
        [
            {
                "sensor_id": each.sensor_id,
                "data": each.data,
                "at": format_time(from_milliseconds(each.at)),
                "id": each.id,
            }
            for each in signals
        ]
    )
    properties = BasicProperties(
        content_type="application/json", delivery_mode=2, correlation_id=correlation_id() or None
    )
    _publish(body, properties)


def publish_probe(sent_at: datetime) -> None:
    """Publish a probe: a message that shows when all that was sent before it has left the queue."""
    _publish(sent_at.isoformat().encode("ascii"), probe_properties())


def _publish(body: bytes, properties: BasicProperties) -> None:
    """Publish within the time allowed; where the exchange or the queue is gone, declare them and try once more."""
    until = time.monotonic() + PUBLISH_SECONDS
    _declare_once(until)
    try:
        _send(body, properties, until)
    except (NotRouted, ChannelClosed):
        _declared.clear()
        _declare_once(until)
        _send(body, properties, until)


def _send(body: bytes, properties: BasicProperties, until: float) -> None:
    left = max(0.01, until - time.monotonic())
    _publisher.publish(body, exchange=EXCHANGE, routing_key="", properties=properties, deadline=left)


def _declare_once(until: float) -> None:
    """Declare unless that has been done; whoever comes while another call does it is not kept waiting."""
    if _declared.is_set():
        return
    if not _declaring.acquire(blocking=False):
        raise EngineUnavailable("another call declares the queue")
    try:
        _declare_by(until)
    finally:
        _declaring.release()


def _declare_by(until: float) -> None:
    _declaration.begin()
    try:
        _declaration.wait(max(0.01, until - time.monotonic()))
    except (pika.exceptions.AMQPError, OSError, StillRunning) as error:
        raise NotPublished(f"RabbitMQ cannot be reached: {error!r}") from error


def declare_signal_queue(channel: BlockingChannel) -> None:
    channel.exchange_declare(EXCHANGE, exchange_type="fanout", durable=True)
    channel.queue_declare(QUEUE, durable=True)
    channel.queue_bind(QUEUE, EXCHANGE)


def _declare_over_new_connection() -> None:
    connection = connect(seconds=PUBLISH_SECONDS)
    try:
        declare_signal_queue(connection.channel())
    finally:
        if connection.is_open:
            connection.close()
    _declared.set()


# In a thread of its own: a broker may fall silent once it has let a client in, and pika waits for a channel for as long
# as heartbeats do not tell it better.
_declaration = OneAtATime("declare-signals", _declare_over_new_connection)


def declare_presence(channel: BlockingChannel, consumer: str) -> None:
    """Declare a queue that lives as long as this connection: by it others see whether the consumer is connected."""
    channel.queue_declare(f"{QUEUE}.{consumer}", exclusive=True)


def find_disconnected(consumers: Sequence[str]) -> list[str]:
    """Return the consumers whose connection has ended, as the broker knows it; none while it cannot be asked."""
    if not consumers:
        return []
    try:
        connection = connect()
    except (pika.exceptions.AMQPError, OSError):
        return []
    try:
        return [consumer for consumer in consumers if not _is_connected(connection, consumer)]
    except (pika.exceptions.AMQPConnectionError, OSError):
        return []
    finally:
        if connection.is_open:
            connection.close()


def _is_connected(connection: BlockingConnection, consumer: str) -> bool:
    try:
        connection.channel().queue_declare(f"{QUEUE}.{consumer}", passive=True)
    except pika.exceptions.ChannelClosedByBroker as closed:
        # The queue of another connection is locked, that of none is not found; both close the channel.
        return bool(closed.reply_code != NOT_FOUND)
    return True


def probe_properties() -> BasicProperties:
    return BasicProperties(type=PROBE, delivery_mode=1, content_type="text/plain")


def probe_sent_at(properties: BasicProperties, body: bytes) -> datetime | None:
    """Return when a probe was sent, or None for any other message."""
    if properties.type != PROBE:
        return None
    try:
        sent_at = datetime.fromisoformat(body.decode("ascii"))
    except ValueError:
        return None
    return sent_at if sent_at.tzinfo is not None else None
