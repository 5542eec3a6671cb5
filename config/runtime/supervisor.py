"""Starts processes, starts again what dies, stops them in order."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import structlog

from config.common.orphans import die_with_parent
from config.logs import PROCESS_VARIABLE
from config.runtime.processes import Process

log = structlog.get_logger(__name__)

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 30.0
STEADY_SECONDS = 60.0
STOP_SECONDS = 8.5
MANAGE = Path(__file__).resolve().parents[2] / "manage.py"

_STOP = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Supervisor:
    """Keeps the processes up until it is told to stop."""

    def __init__(
        self, processes: Sequence[Process], *, environment: Mapping[str, str], descriptors: Mapping[str, int]
    ) -> None:
        """`descriptors` names the processes that inherit an open socket of the supervisor."""
        self._children = [
            Child(process, environment, [number for name, number in descriptors.items() if name == process.name])
            for process in processes
        ]

    def run(self) -> None:
        """Supervise until SIGTERM, SIGINT or SIGHUP.

        The signals are blocked and waited for, together with the death of a child, so none can come between the look
        at the children and the sleep.
        """
        awaited = {*_STOP, signal.SIGCHLD}
        previous = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
        try:
            while True:
                rest = min(child.tend() for child in self._children)
                received = signal.sigtimedwait(awaited, rest)
                if received is not None and received.si_signo in _STOP:
                    break
        finally:
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

    def __init__(self, process: Process, environment: Mapping[str, str], descriptors: Sequence[int]) -> None:
        self.name = process.name
        self._command = [sys.executable, str(MANAGE), process.command, *process.arguments]
        self._environment = {**environment, PROCESS_VARIABLE: process.name}
        self._descriptors = tuple(descriptors)
        self._running: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0
        self._due_at = 0.0
        self._pause = FIRST_PAUSE

    def tend(self) -> float:
        """Start it when that is due, take note of its death; return for how long there is nothing to do."""
        if self._running is not None and self._running.poll() is not None:
            self._bury(self._running)
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
        supervisor = os.getpid()
        self._started_at = time.monotonic()
        try:
            self._running = subprocess.Popen(
                self._command,
                env=self._environment,
                pass_fds=self._descriptors,
                stdin=subprocess.DEVNULL,
                # Ctrl-C in the terminal is for the supervisor alone, which stops its children in order.
                start_new_session=True,
                preexec_fn=lambda: _prepare_child(supervisor),
            )
        except OSError as error:
            log.error("process.not_started", name=self.name, error=str(error))
            self._rest()
        else:
            log.info("process.started", name=self.name, pid=self._running.pid)

    def _bury(self, dead: subprocess.Popen[bytes]) -> None:
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
        self._rest()

    def _rest(self) -> None:
        self._due_at = time.monotonic() + self._pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)


def _prepare_child(supervisor: int) -> None:
    """Runs in the child, before the program: the supervisor has one thread, so nothing can be locked here."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    die_with_parent(supervisor)


def _kill_group(process: subprocess.Popen[bytes]) -> None:
    """Leave none of the processes behind that it has started itself."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
