"""Objects that a fork must not share: threads, connections, and locks that nobody there will open."""

import os
import threading
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakSet

T = TypeVar("T")


class PerProcess(Generic[T]):
    """An object that is made when it is first asked for, and anew in every fork that asks.

    A fork inherits the parent's object without its thread, perhaps in the middle of a change: it is dropped unused.
    """

    _all: "ClassVar[WeakSet[PerProcess[Any]]]" = WeakSet()

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._made: T | None = None
        self._all.add(self)

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
        self._made = None

    @classmethod
    def reset_all(cls) -> None:
        """Drop the objects of the parent, in a process that has just been forked."""
        for each in list(cls._all):
            each.reset()


os.register_at_fork(after_in_child=PerProcess.reset_all)
