"""How often a key may call: so many calls in each minute of the clock, counted in Redis or, without it, in memory."""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Protocol

import structlog
from django.conf import settings
from redis import Redis, RedisError
from redis.backoff import NoBackoff
from redis.retry import Retry

WINDOW = 60
MOST_NAMES = 100_000
OTHERS = "others"
AWAY_SECONDS = 5.0

log = structlog.get_logger(__name__)


class Rates(Protocol):
    def count(self, name: str, at: float) -> int:
        """Count one more call in the minute of `at` and return how many there are."""
        ...


def seconds_to_wait(rates: Rates, name: str, *, limit: int, at: float) -> int | None:
    """Count a call; past the limit return the seconds until the next minute begins."""
    return None if rates.count(name, at) <= limit else seconds_left(at)


def seconds_left(at: float) -> int:
    """Return the seconds until the next minute begins."""
    return math.ceil(WINDOW - at % WINDOW) or 1


def configured_rates() -> Rates:
    return _rates_of(settings.REDIS_URL)


@cache
def _rates_of(redis_url: str | None) -> Rates:
    return RedisRates(redis_url) if redis_url else MemoryRates()


class MemoryRates:
    """Counts of this process; only the current minute is kept, and names beyond the most share one count."""

    def __init__(self, most_names: int = MOST_NAMES) -> None:
        self._most_names = most_names
        self._lock = threading.Lock()
        self._minute = 0
        self._counts: Counter[str] = Counter()

    def count(self, name: str, at: float) -> int:
        with self._lock:
            name = self._counted(name, at)
            self._counts[name] += 1
            return self._counts[name]

    def read(self, name: str, at: float) -> int:
        """Return how many there are in the minute of `at`."""
        with self._lock:
            return self._counts[self._counted(name, at)]

    def _counted(self, name: str, at: float) -> str:
        """Begin a new minute if there is one; return under which name this one is counted."""
        minute = int(at // WINDOW)
        if minute != self._minute:
            self._minute = minute
            self._counts.clear()
        return name if name in self._counts or len(self._counts) < self._most_names else OTHERS


class RedisRates:
    """Counts shared by all processes, in one round trip; while Redis is away each process counts for itself."""

    def __init__(self, url: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._redis = Redis.from_url(url, socket_timeout=0.25, socket_connect_timeout=0.25, retry=Retry(NoBackoff(), 0))
        self._own = MemoryRates()
        self._clock = clock
        self._away_until = 0.0

    def count(self, name: str, at: float) -> int:
        if self._clock() < self._away_until:
            return self._own.count(name, at)
        try:
            return self._count_in_redis(f"rate:{name}:{int(at // WINDOW)}")
        except RedisError as error:
            self._away_until = self._clock() + AWAY_SECONDS
            log.warning("rates.redis_away", error=str(error))
            return self._own.count(name, at)

    def _count_in_redis(self, key: str) -> int:
        with self._redis.pipeline(transaction=False) as pipeline:
            pipeline.incr(key)
            pipeline.expire(key, 2 * WINDOW)
            counted: int = pipeline.execute()[0]
        return counted
