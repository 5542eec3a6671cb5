"""Processes that must not outlive the one that started them, even when that one is killed."""

import ctypes
import os
import signal

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send `number` to this process when its parent ends.

    Without it a killed supervisor would leave processes behind that hold the port and do its work beside the next
    one's. Linux alone can do it; elsewhere nothing happens.
    """
    try:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
    except AttributeError:
        return
    if prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    if os.getppid() != parent:
        # It ended before the kernel was asked.
        os.kill(os.getpid(), number)
