"""Redis: connections with short time-outs."""

from django.conf import settings
from redis import Redis

SECONDS = 3.0
HEALTH_SECONDS = 0.8


def connect(*, seconds: float = SECONDS) -> Redis:
    """Return a client with a pool of its own; nothing is sent before its first command."""
    client: Redis = Redis.from_url(str(settings.REDIS_URL), socket_timeout=seconds, socket_connect_timeout=seconds)
    return client


def health() -> None:
    """Raise unless the server answers."""
    with connect(seconds=HEALTH_SECONDS) as client:
        client.ping()
