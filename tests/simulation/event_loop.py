"""An asyncio loop that waits by the rules of the simulation."""

import asyncio
import selectors
import time
from collections.abc import Mapping
from typing import Any

from tests.simulation.scheduler import Scheduler


class _Selector(selectors.SelectSelector):
    """Hears nothing from sockets: whoever has news wakes the loop."""

    def __init__(self, scheduler: Scheduler) -> None:
        super().__init__()
        self._scheduler = scheduler
        self.is_woken = False

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None or timeout > 0:
            self._scheduler.wait(lambda: self.is_woken, timeout)
        self.is_woken = False
        return []


class SimulatedLoop(asyncio.SelectorEventLoop):
    def __init__(self, scheduler: Scheduler) -> None:
        self._woken = _Selector(scheduler)
        super().__init__(self._woken)

    def time(self) -> float:
        return time.monotonic()

    def _write_to_self(self) -> None:
        self._woken.is_woken = True

    def call_exception_handler(self, context: Mapping[str, Any]) -> None:
        """Say nothing: a process that was killed leaves tasks behind."""
