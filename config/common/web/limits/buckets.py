"""Rates that let a burst pass: what is past them costs a look into memory, and nothing below it."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, HTTPScope, Scope

from config.common.web.limits.errors import TooManyCalls

MOST_NAMES = 10_000


class Buckets:
    """One bucket a name: full at first, emptied one by one, filled again at the rate.

    Kept is when each will be full again, so nothing has to be filled meanwhile. Of more names than are kept, those that
    were emptied longest ago are taken for full.
    """

    def __init__(
        self, *, rate: float, burst: int, most_names: int = MOST_NAMES, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._interval = 1 / rate
        self._burst = burst
        self._most_names = most_names
        self._clock = clock
        self._full_at: OrderedDict[Hashable, float] = OrderedDict()

    def is_empty(self, name: Hashable) -> bool:
        return self.missing(name) > self._burst - 1

    def missing(self, name: Hashable) -> float:
        """Return how many have been taken out and not come back yet."""
        return max(0.0, self._full_at.get(name, 0.0) - self._clock()) / self._interval

    def take(self, name: Hashable) -> bool:
        """Take one out of the bucket, or say that there is none."""
        if self.is_empty(name):
            return False
        self._full_at[name] = max(self._clock(), self._full_at.get(name, 0.0)) + self._interval
        self._full_at.move_to_end(name)
        if len(self._full_at) > self._most_names:
            self._full_at.popitem(last=False)
        return True


class Metered:
    """Let calls of one method and path in at the rate of whoever calls."""

    def __init__(
        self,
        app: ASGI3Application,
        *,
        method: str,
        path: str,
        buckets: Buckets,
        name_of: Callable[[HTTPScope], str],
    ) -> None:
        self._app = app
        self._method, self._path = method, path
        self._buckets = buckets
        self._name_of = name_of

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] == "http" and self._is_counted(scope) and not self._buckets.take(self._name_of(scope)):
            raise TooManyCalls
        await self._app(scope, receive, send)

    def _is_counted(self, scope: HTTPScope) -> bool:
        return scope["path"] == self._path and scope["method"] == self._method
