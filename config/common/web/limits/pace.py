"""Bytes a second: whoever moves more waits, and nobody else."""

import asyncio
import math

from config.common.web.limits.errors import Busy

MOST_NAMES = 10_000


class Pace:
    """So many bytes a second for each name, after a burst."""

    def __init__(self, rate: float, *, burst: float, patience: float = math.inf) -> None:
        self._rate = rate
        self._ahead = burst / rate
        self._patience = patience
        self._next_at: dict[str, float] = {}

    async def rest(self, name: str, size: int) -> float:
        """Wait until so many bytes are due; return for how long, which is not the caller's delay.

        Raise `Busy` instead where that would be longer than there is patience for.
        """
        now = asyncio.get_running_loop().time()
        if len(self._next_at) > MOST_NAMES:
            self._next_at = {name: at for name, at in self._next_at.items() if at > now}
        next_at = max(now, self._next_at.get(name, 0.0)) + size / self._rate
        wait = max(0.0, next_at - now - self._ahead)
        if wait > self._patience:
            raise Busy
        self._next_at[name] = next_at
        try:
            await asyncio.sleep(wait)
        except asyncio.CancelledError:
            # Nobody has read it, so nobody has to wait for it.
            self._next_at[name] = self._next_at.get(name, 0.0) - size / self._rate
            raise
        return wait
