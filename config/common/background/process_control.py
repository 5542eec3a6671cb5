"""What Linux does for the child processes of another one: end them with it, and show them under a name."""

import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15


def die_with_parent(parent: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Ask the kernel to send `number` to this process when its parent ends.

    Without it a killed supervisor would leave processes behind that hold the port and do its work beside the next
    one's. Linux alone can do it; elsewhere nothing happens.
    """
    _prctl(PR_SET_PDEATHSIG, int(number))
    if os.getppid() != parent:
        # It ended before the kernel was asked.
        os.kill(os.getpid(), number)


def name_process(name: str) -> None:
    """Set the name that `top` and `ps -e` show; the kernel keeps its first 15 bytes."""
    _prctl(PR_SET_NAME, name.encode())


def _prctl(option: int, value: int | bytes) -> None:
    try:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
    except AttributeError:
        return
    if prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
