"""Passwords are hashed a few at a time: each costs memory and a core for a while, and anybody can ask for it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from config.common.errors import ApplicationError

SLOTS = 4
"""How many passwords a process hashes at once; more are told to come back, instead of waiting in the slot of a call."""

_free = threading.BoundedSemaphore(SLOTS)
_held = threading.local()


class PasswordsBusy(ApplicationError):
    """Too many passwords are being checked at this moment. Try again in a few seconds."""

    status = 503
    retry_after = 2


@contextmanager
def hashing_slot() -> Iterator[None]:
    """Hold one of the slots; whoever holds one already needs no second."""
    if getattr(_held, "slot", False):
        yield
        return
    if not _free.acquire(blocking=False):
        raise PasswordsBusy
    _held.slot = True
    try:
        yield
    finally:
        _held.slot = False
        _free.release()
