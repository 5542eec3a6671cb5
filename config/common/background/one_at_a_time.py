"""A piece of work that may never end, such as a call to a disk or an engine that hangs."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class StillRunning(Exception):
    """The function has not ended in the time that was given."""


class OneAtATime(Generic[T]):
    """Runs a function in a thread of its own, never in a second one beside one that hangs.

    Whoever waits is given its result, or the error that it raised; neither is ever that of an earlier run.
    """

    def __init__(self, name: str, function: Callable[[], T]) -> None:
        self._name = name
        self._function = function
        self._lock = threading.Lock()
        self._run: _Run[T] | None = None

    def begin(self) -> None:
        """Start the function unless it is still running."""
        with self._lock:
            if self._run is None or not self._run.is_alive():
                self._run = _Run(self._name, self._function)
                self._run.start()

    def wait(self, seconds: float) -> T:
        """Return what the run that was begun last returns, or raise its error; `StillRunning` if it has not ended."""
        run = self._run
        assert run is not None
        run.join(seconds)
        if run.is_alive():
            raise StillRunning(f"{self._name} has not ended within {seconds:g} s")
        if run.error is not None:
            raise run.error
        return run.result


class _Run(threading.Thread, Generic[T]):
    result: T
    error: BaseException | None = None

    def __init__(self, name: str, function: Callable[[], T]) -> None:
        super().__init__(name=name, daemon=True)
        self._function = function

    def run(self) -> None:
        try:
            self.result = self._function()
        except BaseException as error:  # noqa: BLE001  (a thread that dies of it would tell nobody)
            self.error = error
