"""Who has had how much of the processor lately: whoever takes a large part beside others gets few threads at once.

All threads of a process share one interpreter, so each that computes makes every other one slower by as much; whoever
waits for an engine does not. A caller that is alone may take all there is.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from config.common.web.limits.shares import Caller

MEMORY_SECONDS = 2.0
"""After as long a time, about a third of what somebody has had still counts."""
HEAVY_SHARE = 0.1
"""Of one processor: more than anybody needs who sends one call after the other and does something in between."""
OTHERS_SHARE = 0.02
"""Of all others together; less than that is nobody to make room for."""
HEAVY_SLOTS = 2
MOST_CALLERS = 10_000


class Processor:
    """The shares of one process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._all = _Fading()
        self._callers: OrderedDict[str, _Fading] = OrderedDict()

    def note(self, caller: Caller, seconds: float) -> None:
        """Count what a call has computed."""
        at, name = self._clock(), caller.payer
        self._all.add(seconds, at)
        self._callers.setdefault(name, _Fading()).add(seconds, at)
        self._callers.move_to_end(name)
        if len(self._callers) > MOST_CALLERS:
            self._callers.popitem(last=False)

    def is_heavy(self, caller: Caller) -> bool:
        """Say whether the caller takes a large part of the processor, and others want some of it too."""
        found = self._callers.get(caller.payer)
        if found is None:
            return False
        at = self._clock()
        own = found.share(at)
        return own > HEAVY_SHARE and self._all.share(at) - own > OTHERS_SHARE


class _Fading:
    """An amount that fades with time."""

    def __init__(self) -> None:
        self._amount = 0.0
        self._at = 0.0

    def add(self, amount: float, at: float) -> None:
        self._amount = self._left(at) + amount
        self._at = at

    def share(self, at: float) -> float:
        """Return how much that is for each second."""
        return self._left(at) / MEMORY_SECONDS

    def _left(self, at: float) -> float:
        return self._amount * math.exp((self._at - at) / MEMORY_SECONDS)
