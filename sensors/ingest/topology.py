"""The exchange and queue of signals: declared by every publisher and consumer of ours before first use."""

from datetime import datetime

from pika.adapters.blocking_connection import BlockingChannel
from pika.spec import BasicProperties

from config.engines.amqp import connect

EXCHANGE = "signals"
QUEUE = "signals.state"
PROBE = "postern.probe"


def declare(channel: BlockingChannel) -> None:
    channel.exchange_declare(EXCHANGE, exchange_type="fanout", durable=True)
    channel.queue_declare(QUEUE, durable=True)
    channel.queue_bind(QUEUE, EXCHANGE)


def declare_now() -> None:
    """Declare over a connection of the moment, for publishers that have no channel of their own."""
    connection = connect()
    try:
        declare(connection.channel())
    finally:
        connection.close()


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
