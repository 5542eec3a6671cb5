"""Passwords are hashed by Argon2, a few at a time: each costs memory and a core, and anybody can ask for it."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.contrib.auth.hashers import Argon2PasswordHasher, PBKDF2PasswordHasher

from config.common.errors import ApplicationError

SLOTS = 4
"""How many passwords a process hashes at once; more are told to come back, instead of waiting in the slot of a call."""

_free = threading.BoundedSemaphore(SLOTS)
_held = threading.local()


class PasswordsBusy(ApplicationError):
    """Too many passwords are being checked right now. Try again in a few seconds."""

    status = 503
    retry_after = 2


@contextmanager
def hashing_slot() -> Iterator[None]:
    """Run the block in one of the slots; a thread that is in one already takes no second."""
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


class Argon2Hasher(Argon2PasswordHasher):
    """Argon2id with 19 MiB and two passes, the least that OWASP recommends: all slots together take 76 MiB."""

    memory_cost = 19_456
    time_cost = 2
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        with hashing_slot():
            return str(super().encode(password, salt))

    def verify(self, password: str, encoded: str) -> bool:
        with hashing_slot():
            return bool(super().verify(password, encoded))


class OlderHasher(PBKDF2PasswordHasher):
    """What accounts from before have; the next sign-in hashes the password anew."""

    def encode(self, *args: Any, **kwargs: Any) -> str:
        with hashing_slot():
            return str(super().encode(*args, **kwargs))
