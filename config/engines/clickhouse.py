"""ClickHouse by its native protocol: connections with short time-outs."""

from clickhouse_driver import Client
from clickhouse_driver.util.helpers import parse_url
from django.conf import settings

CONNECT_SECONDS = 3.0
QUERY_SECONDS = 30.0
HEALTH_SECONDS = 0.8


def connect(*, connect_seconds: float = CONNECT_SECONDS, query_seconds: float = QUERY_SECONDS) -> Client:
    """Return a client; it connects with its first query. What the URL sets goes before the time-outs here."""
    host, options = parse_url(settings.CLICKHOUSE_URL)
    limits = {
        "connect_timeout": connect_seconds,
        "send_receive_timeout": query_seconds,
        "sync_request_timeout": connect_seconds,
    }
    return Client(host, **{**limits, **options})


def health() -> None:
    """Raise unless the server answers a query."""
    client = connect(connect_seconds=HEALTH_SECONDS, query_seconds=HEALTH_SECONDS)
    try:
        client.execute("SELECT 1")
    finally:
        client.disconnect()
