"""A thread of the product that stands still at one of its file operations until it is told to go on."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from django.db import connection, connections

SECONDS = 30.0


class Late:
    """Does a piece of work in a thread of its own and pauses before its n-th call of one function of `os`."""

    def __init__(self, work: Callable[[], Any], *, at: str, nth: int = 1) -> None:
        self._work, self._name, self._left = work, at, nth
        self._original = getattr(os, at)
        self._is_there, self._may_go = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.session = 0
        """The number of the thread's session in the database."""
        self.error: BaseException | None = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Start the work and come back when it stands still; at the end it goes on and is waited for."""
        with patch.object(os, self._name, self._step):
            self._thread.start()
            try:
                assert self._is_there.wait(SECONDS), self.error or "it never came there"
                yield
            finally:
                self._may_go.set()
                self._thread.join(SECONDS)
        assert not self._thread.is_alive()

    def _step(self, *args: Any, **kwargs: Any) -> Any:
        if threading.current_thread() is self._thread:
            self._left -= 1
            if self._left == 0:
                self._is_there.set()
                self._may_go.wait(SECONDS)
        return self._original(*args, **kwargs)

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
