"""The ERP's own database, SQLite or PostgreSQL: the transaction, its savepoints and the book of processes.

`exchange_attempt` is written before the transaction and says which processes were begun. `exchange_process` is
written inside the transaction: its row is the proof of the commit, and its primary key the fence. Whoever asks later
whether the transaction was committed puts a row "not committed" in its place, so that a transaction which is still on
its way can no longer commit: the answer given to the server stays true.
"""

import sqlite3
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import psycopg

STORE_ERRORS = (sqlite3.Error, psycopg.Error)
_LOCK_SECONDS = 30
_DEADLOCK, _SERIALIZATION, _LOCK_TIMEOUT = "40P01", "40001", "55P03"
_TABLES = (
    "CREATE TABLE IF NOT EXISTS exchange_attempt"
    " (process_id TEXT PRIMARY KEY, worker TEXT NOT NULL, began_at TEXT NOT NULL, outcome TEXT NOT NULL DEFAULT '')",
    "CREATE TABLE IF NOT EXISTS exchange_process"
    " (process_id TEXT PRIMARY KEY, committed INTEGER NOT NULL, told INTEGER NOT NULL, at TEXT NOT NULL)",
)


class Store:
    """One connection, for one thread at a time. The SQL is the same for both databases but for the placeholder."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._is_postgres = address.startswith(("postgresql://", "postgres://"))
        self._open()
        for statement in _TABLES:
            self.execute(statement)

    def execute(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run one statement with `?` placeholders and return its rows; without a transaction it is durable at once."""
        if self._is_postgres:
            sql = sql.replace("?", "%s")
        cursor = self._connection.execute(sql, values)
        return cursor.fetchall() if cursor.description else []

    def begin(self) -> None:
        # Without IMMEDIATE two writers on SQLite would both read first and then refuse each other.
        self.execute("BEGIN" if self._is_postgres else "BEGIN IMMEDIATE")

    def commit(self) -> None:
        self.execute("COMMIT")

    def rollback(self) -> None:
        """Undo the transaction; where the connection is broken, its end undoes it."""
        try:
            self.execute("ROLLBACK")
        except STORE_ERRORS:
            self.reopen()

    def savepoint(self) -> None:
        self.execute("SAVEPOINT message")

    def release(self) -> None:
        self.execute("RELEASE SAVEPOINT message")

    def rollback_to_savepoint(self) -> None:
        self.execute("ROLLBACK TO SAVEPOINT message")
        self.execute("RELEASE SAVEPOINT message")

    def record_attempt(self, process_id: str, worker: str) -> None:
        sql = "INSERT INTO exchange_attempt (process_id, worker, began_at) VALUES (?, ?, ?)"
        self.execute(sql, process_id, worker, _now())

    def record_process(self, process_id: str) -> None:
        """Write the proof of the commit, inside the transaction; fails when the process was settled meanwhile."""
        sql = "INSERT INTO exchange_process (process_id, committed, told, at) VALUES (?, 1, 0, ?)"
        self.execute(sql, process_id, _now())

    def was_committed(self, process_id: str) -> bool:
        """Return for good whether the process's transaction was committed: if it was not by now, it never will be."""
        # Waits for a transaction that holds the row and has not ended yet.
        sql = "INSERT INTO exchange_process (process_id, committed, told, at) VALUES (?, 0, 1, ?)"
        self.execute(f"{sql} ON CONFLICT DO NOTHING", process_id, _now())
        rows = self.execute("SELECT committed FROM exchange_process WHERE process_id = ?", process_id)
        return bool(rows[0][0])

    def committed_untold(self) -> list[str]:
        """Return the committed processes of which the server has not confirmed to know."""
        return self._ids("SELECT process_id FROM exchange_process WHERE committed = 1 AND told = 0 ORDER BY at")

    def unsettled(self, worker: str) -> list[str]:
        """Return what this worker began and never saw the end of, the oldest first."""
        sql = "SELECT process_id FROM exchange_attempt WHERE worker = ? AND outcome = '' ORDER BY began_at"
        return self._ids(sql, worker)

    def mark_settled(self, process_ids: Iterable[str], outcome: str) -> None:
        """Note that the server and this database agree (or why they never will)."""
        for process_id in process_ids:
            self.execute("UPDATE exchange_process SET told = 1 WHERE process_id = ?", process_id)
            self.execute("UPDATE exchange_attempt SET outcome = ? WHERE process_id = ?", outcome, process_id)

    def reopen(self) -> None:
        self.close()
        self._open()

    def close(self) -> None:
        self._connection.close()

    def _open(self) -> None:
        self._connection: Any = self._open_postgres() if self._is_postgres else self._open_sqlite()

    def _open_postgres(self) -> Any:
        connection = psycopg.connect(self._address, autocommit=True, connect_timeout=_LOCK_SECONDS)
        connection.execute(f"SET lock_timeout = '{_LOCK_SECONDS}s'")
        return connection

    def _open_sqlite(self) -> Any:
        connection = sqlite3.connect(
            self._address, timeout=_LOCK_SECONDS, isolation_level=None, check_same_thread=False
        )
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
            connection.execute(f"PRAGMA {pragma}")
        return connection

    def _ids(self, sql: str, *values: Any) -> list[str]:
        return [row[0] for row in self.execute(sql, *values)]


def is_deadlock(error: Exception) -> bool:
    """Return whether an error may go away by trying again later."""
    if isinstance(error, psycopg.Error):
        return error.sqlstate in (_DEADLOCK, _SERIALIZATION, _LOCK_TIMEOUT)
    return isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY


def is_about_the_data(error: Exception) -> bool:
    """Return whether the message itself causes an error, not the disk, the connection or the program."""
    kinds = (sqlite3.IntegrityError, sqlite3.DataError, psycopg.IntegrityError, psycopg.DataError)
    return isinstance(error, kinds)


def find_error_code(error: Exception) -> int | None:
    """Return the number the database gave the error, if it is a number."""
    if isinstance(error, psycopg.Error):
        return int(error.sqlstate) if error.sqlstate and error.sqlstate.isdigit() else None
    return getattr(error, "sqlite_errorcode", None)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
