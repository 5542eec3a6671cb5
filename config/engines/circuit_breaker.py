"""A circuit breaker with a bound on waiting calls: a silent engine must not block the whole process."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

REST_SECONDS = 5.0


class EngineUnavailable(Exception):
    """The engine was not asked: it has failed to answer a moment ago."""


class EngineBusy(EngineUnavailable):
    """The engine was not asked: as many calls as may wait for it already do."""


class CircuitBreaker:
    """Bounds the calls that wait for an engine at once, and refuses all while it is known not to answer.

    After a failure every call is refused at once for a few seconds; then a single one finds out for all of them.
    """

    def __init__(
        self, *, calls: int, rest_seconds: float = REST_SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._calls = calls
        self._rest_seconds = rest_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting = 0
        self._is_away = False
        self._resting_until = 0.0

    @contextmanager
    def call(self, *, failures: tuple[type[BaseException], ...]) -> Iterator[None]:
        """Run the block as one call; raise `EngineUnavailable` where none is allowed. `failures` open the breaker."""
        self._enter()
        try:
            yield
        except failures:
            self._mark_away()
            raise
        else:
            self.mark_back()
        finally:
            with self._lock:
                self._waiting -= 1

    @property
    def is_resting(self) -> bool:
        """Whether every call is refused for now."""
        return self._is_away and self._clock() < self._resting_until

    def mark_back(self) -> None:
        """Close the breaker: the engine has answered, whoever asked."""
        self._is_away = False

    def _enter(self) -> None:
        with self._lock:
            if self.is_resting:
                raise EngineUnavailable("it has not answered a moment ago")
            if self._waiting >= self._calls:
                raise EngineBusy("too many calls wait for it")
            if self._is_away:
                # This one asks; the others are refused until it knows, or for another rest.
                self._resting_until = self._clock() + self._rest_seconds
            self._waiting += 1

    def _mark_away(self) -> None:
        with self._lock:
            self._is_away, self._resting_until = True, self._clock() + self._rest_seconds
