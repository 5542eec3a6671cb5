"""ClickHouse by its native protocol: connections with short time-outs."""

import select
from typing import Any

from clickhouse_driver import Client
from clickhouse_driver.util.helpers import parse_url
from django.conf import settings

CONNECT_SECONDS = 3.0
QUERY_SECONDS = 30.0
# Of a query that somebody waits for. It may work for longer: the server says every 100 ms how far it is, so silence for
# so long is no work.
READ_CONNECT_SECONDS = 1.0
READ_SILENCE_SECONDS = 1.5
HEALTH_SECONDS = 0.8


def connect(*, connect_seconds: float = CONNECT_SECONDS, query_seconds: float = QUERY_SECONDS) -> Client:
    """Return a client; it connects with its first query. What the URL sets goes before the time-outs here."""
    host, options = parse_url(settings.CLICKHOUSE_URL)
    limits = {
        "connect_timeout": connect_seconds,
        "send_receive_timeout": query_seconds,
        "sync_request_timeout": connect_seconds,
    }
    client = Client(host, **{**limits, **options})
    _ask_the_socket_first(client.connection)
    return client


def connect_reader() -> Client:
    """Return a client for queries that a call waits for: a server that falls silent holds nobody up for long."""
    return connect(connect_seconds=READ_CONNECT_SECONDS, query_seconds=READ_SILENCE_SECONDS)


def _ask_the_socket_first(connection: Any) -> None:
    """Spare the round trip by which the driver asks, before each query, whether the server is there.

    A socket with nothing to read is one that the other side has neither closed nor complained about.
    """
    ping = connection.ping

    def is_there() -> bool:
        look = select.poll()
        look.register(connection.socket.fileno(), select.POLLIN)
        return not look.poll(0) or bool(ping())

    connection.ping = is_there


def health() -> None:
    """Raise unless the server answers a query."""
    client = connect(connect_seconds=HEALTH_SECONDS, query_seconds=HEALTH_SECONDS)
    try:
        client.execute("SELECT 1")
    finally:
        client.disconnect()
