"""Django's SQLite backend with one in-process lock around write transactions.

SQLite lets one writer in at a time and makes the others poll, which starves some of them when many threads write. The
lock queues the threads of this process; other processes still meet SQLite's own lock and its busy time-out. Every
`atomic` block begins IMMEDIATE (see the settings), so each is a write transaction from its first statement.
"""

import threading
from collections import defaultdict
from typing import Any

from django.db.backends.sqlite3 import base
from django.db.utils import OperationalError

_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


class DatabaseWrapper(base.DatabaseWrapper):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._write_lock: threading.Lock | None = None

    def _start_transaction_under_autocommit(self) -> None:
        lock = _locks[str(self.settings_dict["NAME"])]
        if not lock.acquire(timeout=self.settings_dict["OPTIONS"].get("timeout", 5)):
            raise OperationalError("database is locked: another thread has been writing for too long")
        self._write_lock = lock
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._release_write_lock()
            raise

    def _commit(self) -> None:
        super()._commit()  # type: ignore[misc]
        self._release_write_lock()

    def _rollback(self) -> None:
        try:
            super()._rollback()  # type: ignore[misc]
        finally:
            self._release_write_lock()

    def _close(self) -> None:
        try:
            super()._close()  # type: ignore[misc]
        finally:
            self._release_write_lock()

    def _release_write_lock(self) -> None:
        lock, self._write_lock = self._write_lock, None
        if lock is not None:
            lock.release()
