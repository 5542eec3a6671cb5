"""Work that becomes due: each app registers its kinds, and every process does them by the same `run_once`.

A kind of work is rung by name after a commit (`ring.py`). Celery workers do it at once where there is a broker; the
scheduler does whatever is still due a few seconds later, so nothing rests on the ring.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class BackgroundWork:
    name: str
    run_once: Callable[[], bool]
    """Do one batch of what is due; return whether there was any. Safe to run twice, at once, and to die in."""
    every: float = 5.0
    """The longest sleep, in seconds, between two looks of the scheduler."""
    rest: Callable[[], float] | None = None
    """Return how many seconds to sleep after a turn that found nothing, instead of `every`: for work that knows when it
    is due next and is rung for what comes earlier. It asks nobody, it remembers what the turn has seen."""
    gather: float = 0.0
    """Begin a turn at the earliest so many seconds after the last one began: whatever is rung for in between is one
    turn's. For work that nobody waits for, and that costs the same for one row as for a hundred."""
    on_workers: bool = False
    """Ring the Celery workers; otherwise only the scheduler does it."""
    stop: Callable[[float], None] | None = None
    """Stop what goes on beside `run_once`, within so many seconds, before the process ends."""


_registered: dict[str, BackgroundWork] = {}


def register_work(work: BackgroundWork) -> None:
    _registered[work.name] = work


def get_work(name: str) -> BackgroundWork:
    return _registered[name]


def registered_work() -> list[BackgroundWork]:
    return list(_registered.values())


def stop_background_work(grace: float) -> None:
    """Stop the work that goes on in the background of this process."""
    for work in _registered.values():
        if work.stop is not None:
            work.stop(grace)
