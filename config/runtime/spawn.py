"""Two ways to start a process: afresh, as a program of its own, or as a fork of what is loaded already.

A fork serves after a tenth of the time, and what is loaded is in memory once for all of them.
"""

import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

from config.common.background.process_control import die_with_parent, name_process
from config.logs import PROCESS_VARIABLE
from config.runtime.processes import Process

MANAGE = Path(__file__).resolve().parents[2] / "manage.py"
LOOK_SECONDS = 0.01


class Running(Protocol):
    """A process that was started, as `subprocess` shows it."""

    pid: int
    returncode: int | None

    def poll(self) -> int | None: ...

    def wait(self, timeout: float) -> int: ...

    def terminate(self) -> None: ...


Start = Callable[[Process], Running]


def program_starter(environment: Mapping[str, str]) -> Start:
    """Start each process as a program with this environment."""

    def start(process: Process) -> Running:
        supervisor = os.getpid()
        return subprocess.Popen(
            [sys.executable, str(MANAGE), process.command, *process.arguments],
            env={**environment, PROCESS_VARIABLE: process.name},
            stdin=subprocess.DEVNULL,
            # Ctrl-C in the terminal is for the supervisor alone, which stops its children in order.
            start_new_session=True,
            # The supervisor has one thread, so nothing can be locked here.
            preexec_fn=lambda: _detach(supervisor),
        )

    return start


class Forked(BaseException):
    """Raised in a process that has just come to be: it unwinds what the supervisor was doing, to begin its own work.

    It ends then as every program does, and not in the middle of the supervisor.
    """

    def __init__(self, process: Process) -> None:
        super().__init__(process.name)
        self.process = process


def fork_process(process: Process) -> Running:
    """Start the process as a copy of this one, in which `Forked` is raised."""
    supervisor = os.getpid()
    pid = os.fork()
    if pid:
        return Fork(pid)
    try:
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.environ[PROCESS_VARIABLE] = process.name
        name_process(f"postern {process.name}")
        _detach(supervisor)
    except OSError:
        traceback.print_exc()
        os._exit(1)  # else the supervisor's own answer to it would make this one a second supervisor
    raise Forked(process)


class Fork:
    """A child of this process that `subprocess` does not know."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float) -> int:
        deadline = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() >= deadline:
                raise subprocess.TimeoutExpired(str(self.pid), timeout)
            time.sleep(LOOK_SECONDS)
        return code

    def terminate(self) -> None:
        # Until it is waited for its number belongs to nobody else.
        if self.poll() is None:
            os.kill(self.pid, signal.SIGTERM)


def _detach(supervisor: int) -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    die_with_parent(supervisor)
