"""Django's SQLite backend with one in-process lock around everything that writes.

SQLite lets one writer in at a time and makes the others poll, at ever longer intervals of up to a tenth of a second,
which starves some of them when many threads write. The lock queues the threads of this process; other processes still
meet SQLite's own lock and its busy time-out. Every `atomic` block begins IMMEDIATE (see the settings), so each is a
write transaction from its first statement; a statement that writes outside of one takes the lock for itself.

SQLite's own LIKE folds the case of A to Z alone; here it folds that of every letter, as on PostgreSQL.

Times are text, and text is compared. The present is written with milliseconds; Django writes a time that it computed
with microseconds, and `.123000` would be after `.123`: what is due at once would be due a millisecond later.
"""

import re
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from django.db.backends.sqlite3 import base
from django.db.backends.sqlite3._functions import _sqlite_format_dtdelta  # type: ignore[import-untyped]
from django.db.utils import OperationalError

from config.common.database.failures import OUTCOME_UNKNOWN, driver_codes

_WHOLE_MILLISECONDS = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}000")
_READS = ("SELECT", "PRAGMA", "EXPLAIN", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE", "VALUES")
_WRITES_WITHIN = re.compile(r"\b(?:INSERT|UPDATE|DELETE|REPLACE)\b", re.IGNORECASE)
_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


class DatabaseWrapper(base.DatabaseWrapper):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._write_lock: threading.Lock | None = None

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        connection = super().get_new_connection(conn_params)
        for arguments in (2, 3):  # without and with ESCAPE
            connection.create_function("like", arguments, _like, deterministic=True)
        connection.create_function("django_format_dtdelta", 3, _compute_time, deterministic=True)
        return connection

    def create_cursor(self, name: Any = None) -> Any:
        cursor = self.connection.cursor(factory=_Cursor)
        cursor.database = self
        return cursor

    @contextmanager
    def write_alone(self) -> Iterator[None]:
        """Hold the lock for one statement."""
        lock = self._acquire_write_lock()
        try:
            yield
        finally:
            lock.release()

    def _acquire_write_lock(self) -> threading.Lock:
        lock = _locks[str(self.settings_dict["NAME"])]
        if not lock.acquire(timeout=self.settings_dict["OPTIONS"].get("timeout", 5)):
            raise OperationalError("database is locked: another thread has been writing for too long")
        return lock

    def _start_transaction_under_autocommit(self) -> None:
        self._write_lock = self._acquire_write_lock()
        try:
            super()._start_transaction_under_autocommit()  # type: ignore[misc]
        except BaseException:
            self._release_write_lock()
            raise

    def _commit(self) -> None:
        try:
            super()._commit()  # type: ignore[misc]
        except OperationalError as error:
            if driver_codes(error)[1] == sqlite3.SQLITE_IOERR:
                # The end of the transaction may be in the log all the same, and be found there after a crash.
                setattr(error.__cause__, OUTCOME_UNKNOWN, True)
            raise
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


class _Cursor(base.SQLiteCursorWrapper):
    """A cursor whose statement holds the lock if it writes on its own.

    What such a statement returns is read at once: SQLite does not commit it before its last row was fetched.
    """

    database: DatabaseWrapper
    _rows: list[Any] | None = None

    def execute(self, query: str, params: Any = None) -> Any:
        self._rows = None
        if self.connection.in_transaction or not _writes(query):
            return super().execute(query, params)
        with self.database.write_alone():
            super().execute(query, params)
            self._rows = super().fetchall()[::-1]
        return self

    def executemany(self, query: str, param_list: Any) -> Any:
        self._rows = None
        if self.connection.in_transaction or not _writes(query):
            return super().executemany(query, param_list)
        with self.database.write_alone():
            return super().executemany(query, param_list)

    def fetchone(self) -> Any:
        if self._rows is None:
            return super().fetchone()
        return self._rows.pop() if self._rows else None

    def fetchmany(self, size: int | None = None) -> list[Any]:
        size = self.arraysize if size is None else size
        if self._rows is None:
            return super().fetchmany(size)
        return [self._rows.pop() for _ in range(min(size, len(self._rows)))]

    def fetchall(self) -> list[Any]:
        if self._rows is None:
            return super().fetchall()
        return self.fetchmany(len(self._rows))

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if self._rows is None:
            return super().__next__()
        if not self._rows:
            raise StopIteration
        return self._rows.pop()


def _writes(query: str) -> bool:
    """Say whether a statement may write; one that only looks like it loses nothing but its turn."""
    begin = query.lstrip()[:9].upper()
    if begin.startswith("WITH"):
        return _WRITES_WITHIN.search(query) is not None
    return not begin.startswith(_READS)


def _compute_time(connector: Any, left: Any, right: Any) -> Any:
    """Add or subtract as Django does, and write whole milliseconds as the present is written."""
    computed = _sqlite_format_dtdelta(connector, left, right)
    if isinstance(computed, str) and _WHOLE_MILLISECONDS.fullmatch(computed):
        return computed[:-3]
    return computed


def _like(pattern: Any, text: Any, escape: str = "") -> bool | None:
    """Return whether a text is like a pattern; the operator LIKE calls it with its sides turned round."""
    if pattern is None or text is None:
        return None
    return _compile(str(pattern), escape).fullmatch(str(text)) is not None


@lru_cache(maxsize=200)
def _compile(pattern: str, escape: str) -> re.Pattern[str]:
    places = {"%": ".*", "_": "."}
    parts, is_escaped = list[str](), False
    for letter in pattern:
        if escape and letter == escape and not is_escaped:
            is_escaped = True
            continue
        parts.append(re.escape(letter) if is_escaped else places.get(letter, re.escape(letter)))
        is_escaped = False
    return re.compile("".join(parts), re.IGNORECASE | re.DOTALL)
