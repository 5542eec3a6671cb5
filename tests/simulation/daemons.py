"""The loops of a scheduler process, as the product has them, and the ring that wakes them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from config.common.background import supervision
from config.common.background.daemon import Daemon
from tests.simulation.scheduler import DEFECTS, Scheduler

RING = "config.common.background.ring"


def run_daemons(scheduler: Scheduler, *daemons: Daemon) -> None:
    """Run these loops, each in a thread of the current process, until it is killed."""
    memory = scheduler.process().memory
    for daemon in daemons:
        memory[Daemon, daemon.name] = daemon
        daemon.start()
    while True:
        time.sleep(3600.0)


@contextmanager
def simulated_ring(scheduler: Scheduler) -> Iterator[None]:
    """Have a ring wake the loop of its process; those of others find out by themselves. A defect ends the run."""
    note = supervision.FailureBackoff.note

    def wake(name: str) -> None:
        daemon = scheduler.process().memory.get((Daemon, name))
        if daemon is not None:
            daemon.wake()

    def watch(backoff: Any, error: BaseException, *, lived: float = 0.0) -> float:
        scheduler.tell("a loop fails", f"{backoff.name}: {type(error).__name__} {error}")
        if isinstance(error, DEFECTS) and not scheduler.process().is_dead:
            scheduler.error = error
        return note(backoff, error, lived=lived)

    with (
        patch(f"{RING}._wake_here", wake),
        patch(f"{RING}._is_for_workers", lambda work: False),
        patch.object(supervision.FailureBackoff, "note", watch),
    ):
        yield
