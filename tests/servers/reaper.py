"""End one server process, or remove one folder, when the process that asked for it ends, however it ends.

A program of its own, so that it outlives a parent killed with SIGKILL: the parent holds the other end of its
standard input; when that closes, the server is killed or the folder removed. Every byte before is a signal to pass on.
"""

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn, TypedDict

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
STDIN = 0
NO_SIGNAL = 0
LAST_SIGNAL_SECONDS = 5.0
REMOVAL_SECONDS = 20.0


class Order(TypedDict):
    """What to keep: a command, or with an empty command a folder."""

    parent: int
    command: list[str]
    user: int | None
    group: int | None
    last_signal: int
    folder: str


def main() -> int:
    """Obey the order in the first argument."""
    order: Order = json.loads(sys.argv[1])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _leave)
    return run_process(order) if order["command"] else guard_folder(order)


def run_process(order: Order) -> int:
    """Run the command until it ends or the parent does, and leave no descendant behind."""
    adopt_orphans()
    wake = _wake_when_a_child_ends()
    server = subprocess.Popen(
        order["command"],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        user=order["user"],
        group=order["group"],
        extra_groups=None if order["user"] is None else [],
        preexec_fn=die_with_the_parent,
    )
    try:
        return _pass_signals(order, server.pid, wake)
    finally:
        _kill_descendants()


def guard_folder(order: Order) -> int:
    """Remove the folder as soon as the parent lets go of it."""
    while _next_signal(order["parent"]) is not None:
        pass
    _remove(Path(order["folder"]))
    return 0


def die_with_the_parent() -> None:
    """Have the kernel kill this process when the thread that started it ends."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _leave(number: int, _frame: object) -> NoReturn:
    sys.exit(128 + number)


def adopt_orphans() -> None:
    """Become the parent of whatever a child leaves behind, such as a daemon: so it can be found and killed."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option}) failed")


def _wake_when_a_child_ends() -> int:
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    # The wake-up descriptor is written only for signals that have a handler.
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    return reader


def _pass_signals(order: Order, server: int, wake: int) -> int:
    while (code := _reap(server)) is None:
        number = _next_signal(order["parent"], wake)
        if number is None:
            return _end(server, order["last_signal"])
        os.kill(server, number)
    return code if code >= 0 else 128 - code


def _reap(server: int) -> int | None:
    """Collect ended children; return the exit code of the server when it is among them."""
    code = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return code
        if pid == 0:
            return code
        if pid == server:
            code = os.waitstatus_to_exitcode(status)


def _next_signal(parent: int, wake: int | None = None) -> int | None:
    """Wait a second at most for a signal to pass on; return None once the parent is gone."""
    ready, _, _ = select.select([STDIN] if wake is None else [STDIN, wake], [], [], 1.0)
    if wake in ready:
        os.read(wake, 4096)
    if STDIN in ready:
        byte = os.read(STDIN, 1)
        return byte[0] if byte else None
    # A fork of the parent may still hold the pipe open, so the end of the input alone is not enough.
    return NO_SIGNAL if os.getppid() == parent else None


def _end(server: int, last_signal: int) -> int:
    os.kill(server, last_signal)
    deadline = time.monotonic() + LAST_SIGNAL_SECONDS
    while _reap(server) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    return 0


def _kill_descendants() -> None:
    # Killing a child hands its children over to the reaper, so every generation takes a turn.
    while True:
        for child in Path("/proc/thread-self/children").read_text().split():
            os.kill(int(child), signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _remove(folder: Path) -> None:
    # The reapers of the servers see the parent's end at the same moment: files may appear while others go.
    deadline = time.monotonic() + REMOVAL_SECONDS
    while folder.exists():
        shutil.rmtree(folder, ignore_errors=time.monotonic() < deadline)
        time.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
