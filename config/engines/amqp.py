"""RabbitMQ by pika: connections with every step bounded."""

import pika
from django.conf import settings
from pika.adapters.blocking_connection import BlockingConnection
from pika.adapters.utils.connection_workflow import AMQPConnectorException
from pika.exceptions import AMQPConnectionError

from config.engines.amqp_frames import TolerantConnection

HEARTBEAT_SECONDS = 10
CONNECT_SECONDS = 3.0
HEALTH_SECONDS = 0.8


def parameters(*, seconds: float = CONNECT_SECONDS) -> pika.URLParameters:
    """Return how to connect: a broker may accept the connection and never answer, so nothing waits for ever."""
    chosen = pika.URLParameters(settings.AMQP_URL)
    chosen.heartbeat = HEARTBEAT_SECONDS
    chosen.blocked_connection_timeout = 2 * HEARTBEAT_SECONDS
    chosen.socket_timeout = seconds
    chosen.stack_timeout = seconds
    chosen.connection_attempts = 1
    return chosen


def connect(*, seconds: float = CONNECT_SECONDS) -> BlockingConnection:
    """Open a connection for one thread; raise `pika.exceptions.AMQPError` when that fails or takes too long."""
    try:
        return BlockingConnection(parameters(seconds=seconds), _impl_class=TolerantConnection)
    except AMQPConnectorException as error:
        # The time-out of the handshake is none of AMQP's errors, and nobody would take it for a broker that is away.
        raise AMQPConnectionError(repr(error)) from error


def health() -> None:
    """Raise unless the broker lets a client in."""
    connect(seconds=HEALTH_SECONDS).close()
