"""Threads, locks and clocks of Python as the simulation has them: whoever waits passes the baton on."""

import _thread
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, tzinfo
from random import Random
from typing import Any
from unittest.mock import patch

from django.utils import timezone

from config.common import ids
from config.common.background.per_process import PerProcess
from sensors.heartbeat import clock as steady_clock
from tests.simulation.scheduler import Killed, Scheduler, Strand

EPOCH = datetime(2031, 3, 3, 12, tzinfo=UTC).timestamp()
"""When every run begins."""
BOOTED = 100_000.0


@contextmanager
def simulated_threads(scheduler: Scheduler) -> Iterator[None]:
    """Make the threads that processes start threads of the simulation, and have them wait by its rules."""
    real_start, real_join, real_wait = threading.Thread.start, threading.Thread.join, threading.Condition.wait
    real_is_alive = threading.Thread.is_alive
    strands: dict[threading.Thread, Strand] = {}
    starting = set[int]()

    def is_simulated() -> bool:
        strand = scheduler.current()
        return strand is not None and strand is not scheduler.director and _thread.get_ident() not in starting

    def start(thread: threading.Thread) -> None:
        if not is_simulated():
            real_start(thread)
            return
        if scheduler.process().is_dead:
            raise Killed
        strand = strands[thread] = scheduler.add_thread(thread.name)
        run = thread.run
        setattr(thread, "run", lambda: _run(scheduler, strand, run))  # noqa: B010
        starting.add(_thread.get_ident())  # Python itself waits until the thread is there
        try:
            real_start(thread)
        finally:
            starting.discard(_thread.get_ident())

    def join(thread: threading.Thread, timeout: float | None = None) -> None:
        strand = strands.get(thread)
        if strand is None or not is_simulated():
            real_join(thread, timeout)
        else:
            scheduler.wait(lambda: strand.is_finished, timeout)

    def is_alive(thread: threading.Thread) -> bool:
        strand = strands.get(thread)
        return real_is_alive(thread) if strand is None else not strand.is_finished

    def wait(condition: Any, timeout: float | None = None) -> bool:
        if not is_simulated():
            return bool(real_wait(condition, timeout))
        return _wait(scheduler, condition, timeout)

    with (
        patch.object(threading.Thread, "start", start),
        patch.object(threading.Thread, "join", join),
        patch.object(threading.Thread, "is_alive", is_alive),
        patch.object(threading.Condition, "wait", wait),
        # The one in C waits where nobody sees it.
        patch.object(queue, "SimpleQueue", queue._PySimpleQueue),  # type: ignore[attr-defined]
    ):
        yield


def _run(scheduler: Scheduler, strand: Strand, run: Callable[[], None]) -> None:
    try:
        scheduler.enter(strand)
        run()
    except Killed:
        pass
    finally:
        scheduler._close_connections()
        scheduler.leave(strand)


def _wait(scheduler: Scheduler, condition: Any, timeout: float | None) -> bool:
    """Do what `Condition.wait` does, with the scheduler's patience in place of a lock's."""
    if timeout is not None and timeout <= 0:
        return False  # a look, no wait: whoever looks may hold a lock that others need
    waiter = _thread.allocate_lock()
    waiter.acquire()
    condition._waiters.append(waiter)
    saved = condition._release_save()
    try:
        scheduler.wait(lambda: not waiter.locked(), timeout)
    finally:
        condition._acquire_restore(saved)
        if waiter.locked() and waiter in condition._waiters:
            condition._waiters.remove(waiter)
    return not waiter.locked()


@contextmanager
def simulated_clocks(scheduler: Scheduler) -> Iterator[None]:
    """Have every clock of Python show the time of the simulation, each process that of its node."""

    class Datetime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.fromtimestamp(wall_clock(scheduler), tz)

    def steady(*_: Any) -> float:
        return BOOTED + scheduler.now

    with ExitStack() as stack:
        for module in (timezone, steady_clock):
            stack.enter_context(patch.object(module, "datetime", Datetime))
        stack.enter_context(patch.object(time, "time", lambda: wall_clock(scheduler)))
        stack.enter_context(patch.object(time, "time_ns", lambda: int(wall_clock(scheduler) * 1000) * 1_000_000))
        stack.enter_context(patch.object(time, "monotonic", steady))
        stack.enter_context(patch.object(time, "perf_counter", steady))
        stack.enter_context(patch.object(time, "clock_gettime", steady))
        stack.enter_context(patch.object(time, "sleep", scheduler.sleep))
        yield


def wall_clock(scheduler: Scheduler) -> float:
    return EPOCH + round(scheduler.now + scheduler.process().node.skew, 3)


@contextmanager
def simulated_processes(scheduler: Scheduler) -> Iterator[None]:
    """Give each process a number, randomness and module state of its own."""
    dice = Random(f"random/{scheduler.nature.seed}")
    with (
        patch.object(os, "getpid", lambda: scheduler.process().pid),
        patch.object(os, "urandom", dice.randbytes),
        patch("random.random", dice.random),
        patch("random.uniform", dice.uniform),
        patch("random.choice", dice.choice),
        patch.object(PerProcess, "_made", of_process(scheduler, "made"), create=True),
        patch.object(steady_clock.Clock, "_anchor", of_process(scheduler, "anchor"), create=True),
        patch.object(ids, "_last", 0),
    ):
        yield


class OfProcess:
    """A container that every process has its own of: stands for one that a module keeps."""

    def __init__(self, scheduler: Scheduler, make: Callable[[], Any]) -> None:
        self._scheduler, self._make = scheduler, make

    def _own(self) -> Any:
        memory = self._scheduler.process().memory
        if self not in memory:
            memory[self] = self._make()
        return memory[self]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own(), name)

    def __contains__(self, key: Any) -> bool:
        return key in self._own()

    def __getitem__(self, key: Any) -> Any:
        return self._own()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._own()[key] = value

    def __len__(self) -> int:
        return len(self._own())


def of_process(scheduler: Scheduler, name: str) -> property:
    """Make an attribute one of the process: what other processes put there is not seen, and at first it is None."""

    def get(owner: Any) -> Any:
        return scheduler.process().memory.get((name, id(owner)))

    def put(owner: Any, value: Any) -> None:
        scheduler.process().memory[name, id(owner)] = value

    return property(get, put)
