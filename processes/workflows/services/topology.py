"""The exchanges and the queue of workflows: declared by whoever of ours uses them, before first use."""

import threading

import pika.exceptions
from pika.adapters.blocking_connection import BlockingChannel

from config.engines.amqp import connect
from config.engines.publisher import NotPublished

INCOMING = "workflows.in"
QUEUE = "workflows.events"
OUTGOING = "workflows.out"

_declared = threading.Event()


def declare_topology(channel: BlockingChannel) -> None:
    for exchange in (INCOMING, OUTGOING):
        channel.exchange_declare(exchange, exchange_type="topic", durable=True)
    channel.queue_declare(QUEUE, durable=True)
    channel.queue_bind(QUEUE, INCOMING, routing_key="#")


def declare_once() -> None:
    """Declare over a connection of the moment, for publishers that have no channel of their own."""
    if _declared.is_set():
        return
    try:
        connection = connect()
        try:
            declare_topology(connection.channel())
        finally:
            connection.close()
    except (pika.exceptions.AMQPError, OSError) as error:
        raise NotPublished(f"RabbitMQ cannot be reached: {error!r}") from error
    _declared.set()


def reset_declared() -> None:
    """The broker has lost them."""
    _declared.clear()
