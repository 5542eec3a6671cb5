"""The exchange and queue of signals: declared by every publisher and consumer of ours before first use."""

from collections.abc import Sequence
from datetime import datetime

import pika.exceptions
from pika.adapters.blocking_connection import BlockingChannel, BlockingConnection
from pika.spec import BasicProperties

from config.engines.amqp import connect

EXCHANGE = "signals"
QUEUE = "signals.state"
PROBE = "postern.probe"
NOT_FOUND = 404


def declare_signal_queue(channel: BlockingChannel) -> None:
    channel.exchange_declare(EXCHANGE, exchange_type="fanout", durable=True)
    channel.queue_declare(QUEUE, durable=True)
    channel.queue_bind(QUEUE, EXCHANGE)


def declare_over_new_connection() -> None:
    """Declare over a connection of the moment, for publishers that have no channel of their own."""
    connection = connect()
    try:
        declare_signal_queue(connection.channel())
    finally:
        connection.close()


def declare_presence(channel: BlockingChannel, consumer: str) -> None:
    """Declare a queue that is there for as long as this connection: by it others see whether a consumer is."""
    channel.queue_declare(f"{QUEUE}.{consumer}", exclusive=True)


def find_disconnected(consumers: Sequence[str]) -> list[str]:
    """Return those whose connection has ended, as the broker knows it; nobody while the broker cannot be asked."""
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
    """Return when one of our own probes was sent; None for a signal."""
    if properties.type != PROBE:
        return None
    try:
        sent_at = datetime.fromisoformat(body.decode("ascii"))
    except ValueError:
        return None
    return sent_at if sent_at.tzinfo is not None else None
