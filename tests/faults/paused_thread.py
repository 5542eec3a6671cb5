"""A thread that pauses before its n-th file operation until the test lets it go on."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from django.db import connection, connections

STEPS = ("link", "rename", "unlink", "fsync")
SECONDS = 240.0


class PausedThread:
    """Runs a piece of work in a thread of its own; it pauses before its n-th file operation, if it has so many."""

    def __init__(self, work: Callable[[], Any], *, nth: int, steps: tuple[str, ...] = STEPS) -> None:
        self._work, self._nth, self._names = work, nth, steps
        self._is_there, self._may_go = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.steps = 0
        self.session = 0
        """The number of the thread's session in the database."""
        self.error: BaseException | None = None

    @contextmanager
    def paused(self) -> Iterator[bool]:
        """Start the work and come back when it stands still, or is done; at the end it goes on and is waited for."""
        with ExitStack() as patches:
            for name in self._names:
                patches.enter_context(patch.object(os, name, self._watch(getattr(os, name))))
            self._thread.start()
            try:
                assert self._is_there.wait(SECONDS)
                yield self.steps == self._nth
            finally:
                self._may_go.set()
                self._thread.join(SECONDS)
        assert not self._thread.is_alive()

    def _watch(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            if threading.current_thread() is self._thread:
                self._step()
            return original(*args, **kwargs)

        return watched

    def _step(self) -> None:
        self.steps += 1
        if self.steps == self._nth:
            self._is_there.set()
            self._may_go.wait(SECONDS)

    def _run(self) -> None:
        try:
            connection.ensure_connection()
            if connection.vendor == "postgresql":
                self.session = connection.connection.info.backend_pid
            self._work()
        except BaseException as error:  # noqa: BLE001  (told by the test that waits for this thread)
            self.error = error
        finally:
            connections.close_all()
            self._is_there.set()
