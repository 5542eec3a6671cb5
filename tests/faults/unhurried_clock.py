"""Time as it would pass on a machine that does nothing else: what is promised to be quick is measured by it."""

import time

SPIN_SECONDS = 0.05
"""Of the processor, for each look at how busy the machine is."""
PAUSE_SECONDS = 3.0


class UnhurriedClock:
    """Counts the seconds of the wall, each by the share of a processor that whoever wants one is given.

    Where a spin takes four times as long as the processor has worked for it, four seconds count as one.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._last = time.monotonic()

    def wait(self) -> None:
        time.sleep(PAUSE_SECONDS)
        self.tick()

    def tick(self) -> None:
        """Count the time since the last tick."""
        share = measure_share()
        now = time.monotonic()
        self.seconds += (now - self._last) * share
        self._last = now


def measure_share() -> float:
    """Return which part of a processor this thread is given, up to 1."""
    began, worked = time.monotonic(), time.thread_time()
    while time.thread_time() - worked < SPIN_SECONDS:
        pass
    return min(1.0, (time.thread_time() - worked) / (time.monotonic() - began))
