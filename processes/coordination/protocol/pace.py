"""A rate limit for repeats, which rises while they lead to something."""

import time
from collections.abc import Callable


class Pace:
    """A token bucket: `per_second`, at most `burst` at once; up to `most` at once after repeats that have helped."""

    def __init__(
        self, per_second: float, *, burst: int, most: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second, self._burst, self._most, self._clock = per_second, burst, most, clock
        self._allowed, self._boost, self._since = float(burst), 0, clock()

    def allowed(self) -> int:
        """Return how many may be sent now."""
        now = self._clock()
        self._allowed = min(self._burst, self._allowed + (now - self._since) * self._per_second)
        self._since = now
        return min(self._most, max(int(self._allowed), self._boost))

    def spend(self, count: int) -> None:
        self._allowed = max(0.0, self._allowed - count)
        self._boost = max(0, self._boost - count)

    def speed_up(self, count: int) -> None:
        """Allow twice as many at once as have just led to something."""
        self._boost = min(self._most, self._boost + 2 * count)
