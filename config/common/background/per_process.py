"""Objects that a fork must not share: threads, connections, and locks that nobody there will open."""

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")


class PerProcess(Generic[T]):
    """Makes its object when it is first asked for it, and another one in every fork that asks.

    A fork inherits the parent's object without its thread, perhaps in the middle of a change: it is dropped unused.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self.reset()
        _all.add(self)

    def get(self) -> T:
        """Return the object of this process."""
        with self._lock:
            if self._made is None:
                self._made = self._make()
            return self._made

    def take(self) -> T | None:
        """Return the object if there is one, to be ended: whoever asks later has a new one."""
        with self._lock:
            taken, self._made = self._made, None
            return taken

    def reset(self) -> None:
        """Drop the object unused. The lock too: another thread may have held it when the process was forked."""
        self._lock = threading.Lock()
        self._made: T | None = None


_all: "WeakSet[PerProcess[Any]]" = WeakSet()


def _reset_all() -> None:
    for each in list(_all):
        each.reset()


os.register_at_fork(after_in_child=_reset_all)
