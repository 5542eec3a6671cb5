"""Starts processes, starts again what dies, stops them in order."""

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress

import structlog

from config.runtime.processes import Process
from config.runtime.spawn import Running, Start

log = structlog.get_logger(__name__)

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
STEADY_SECONDS = 60.0
STOP_SECONDS = 8.5

_STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Supervisor:
    """Keeps the processes up until it is told to stop."""

    def __init__(self, processes: Sequence[Process], start: Start) -> None:
        self._children = [Child(process, start) for process in processes]

    def run(self) -> None:
        """Supervise until SIGTERM, SIGINT or SIGHUP; in a process that was forked `Forked` goes through.

        The signals are blocked and waited for, together with the death of a child, so none can come between the look
        at the children and the sleep.
        """
        supervisor = os.getpid()
        awaited = {*_STOP, signal.SIGCHLD}
        previous = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
        try:
            while True:
                rest = min(child.advance() for child in self._children)
                received = signal.sigtimedwait(awaited, rest)
                if received is not None and received.si_signo in _STOP:
                    break
        finally:
            # What was forked comes through here too, on the way to its own work.
            if os.getpid() == supervisor:
                self._stop()
                signal.pthread_sigmask(signal.SIG_SETMASK, previous)

    def _stop(self) -> None:
        """Stop one after the other; what takes longer than its share goes on beside the next, until the deadline."""
        log.info("supervisor.stopping")
        deadline = time.monotonic() + STOP_SECONDS
        for position, child in enumerate(self._children):
            shares = len(self._children) - position + 1
            child.terminate()
            child.wait(max(0.0, deadline - time.monotonic()) / shares)
        for child in self._children:
            if not child.wait(max(0.0, deadline - time.monotonic())):
                child.kill()
        log.info("supervisor.stopped")


class Child:
    """One process of the table, through all its lives."""

    def __init__(self, process: Process, start: Start) -> None:
        self.name = process.name
        self._process = process
        self._begin = start
        self._running: Running | None = None
        self._started_at = 0.0
        self._due_at = 0.0
        self._pause = FIRST_PAUSE

    def advance(self) -> float:
        """Start the process when that is due, and notice its death; return for how long there is nothing to do."""
        if self._running is not None and self._running.poll() is not None:
            self._record_exit(self._running)
        if self._running is None and time.monotonic() >= self._due_at:
            self._start()
        return STEADY_SECONDS if self._running else max(0.01, self._due_at - time.monotonic())

    def terminate(self) -> None:
        """Ask it to end."""
        if self._running is not None:
            log.info("process.stopping", name=self.name, pid=self._running.pid)
            self._running.terminate()

    def wait(self, seconds: float) -> bool:
        """Wait for its end; return whether it came."""
        if self._running is None:
            return True
        try:
            code = self._running.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        ended, self._running = self._running, None
        _kill_group(ended)
        log.info("process.stopped", name=self.name, pid=ended.pid, code=code)
        return True

    def kill(self) -> None:
        """End it, and all that it has started, by force."""
        if self._running is not None:
            _kill_group(self._running)
            self.wait(STOP_SECONDS)

    def _start(self) -> None:
        self._started_at = time.monotonic()
        try:
            self._running = self._begin(self._process)
        except OSError as error:
            log.error("process.not_started", name=self.name, error=str(error))
            self._pause_start()
        else:
            log.info("process.started", name=self.name, pid=self._running.pid)

    def _record_exit(self, dead: Running) -> None:
        lived = time.monotonic() - self._started_at
        self._running = None
        _kill_group(dead)
        if lived >= STEADY_SECONDS:
            self._pause = FIRST_PAUSE
        log.warning(
            "process.exited",
            name=self.name,
            pid=dead.pid,
            code=dead.returncode,
            lived_seconds=round(lived, 1),
            pause_seconds=self._pause,
        )
        self._pause_start()

    def _pause_start(self) -> None:
        self._due_at = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)


def _kill_group(process: Running) -> None:
    """Kill what is left of the process group: children that the process has started itself."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
