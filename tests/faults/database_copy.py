"""Copy the product's database in memory and restore it later, without the files, as a restored backup does."""

import sqlite3
from abc import ABC, abstractmethod
from typing import Any

from django.db import connection


class DatabaseCopy(ABC):
    """Everything that was in the database when it was made."""

    @abstractmethod
    def put_back(self) -> None:
        """Bring the database back to that moment; what was written since is gone."""

    @abstractmethod
    def close(self) -> None:
        """Free the memory."""


def copy_database() -> DatabaseCopy:
    return PostgresCopy() if connection.vendor == "postgresql" else SqliteCopy()


class SqliteCopy(DatabaseCopy):
    def __init__(self) -> None:
        self._kept = sqlite3.connect(":memory:")
        self._database().backup(self._kept)

    def put_back(self) -> None:
        self._kept.backup(self._database())

    def close(self) -> None:
        self._kept.close()

    def _database(self) -> sqlite3.Connection:
        connection.ensure_connection()
        kept: sqlite3.Connection = connection.connection
        return kept


class PostgresCopy(DatabaseCopy):
    """Table by table in memory: a dump that takes no second for each of its many uses here."""

    def __init__(self) -> None:
        self._tables = {name: self._read(f"COPY (SELECT * FROM {name}) TO STDOUT") for name in _names("p", "r")}
        self._sequences = {name: _rows(f"SELECT last_value, is_called FROM {name}")[0] for name in _names("S")}

    def put_back(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")  # the order of tables is none of keys' business
            cursor.execute(f"TRUNCATE {', '.join(self._tables)}")
            for name, text in self._tables.items():
                with cursor.copy(f"COPY {name} FROM STDIN") as copy:
                    copy.write(text)
            for name, (last, is_called) in self._sequences.items():
                cursor.execute("SELECT setval(%s, %s, %s)", [name, last, is_called])
            cursor.execute("SET session_replication_role = DEFAULT")

    def close(self) -> None:
        self._tables.clear()

    def _read(self, statement: str) -> bytes:
        with connection.cursor() as cursor, cursor.copy(statement) as copy:
            return b"".join(bytes(part) for part in copy)


def _names(*kinds: str) -> list[str]:
    """List the tables or sequences; what is part of another table is copied with it."""
    statement = (
        "SELECT quote_ident(relname) FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        " AND relkind::text = ANY(%s) AND NOT relispartition ORDER BY relname"
    )
    return [name for (name,) in _rows(statement, list(kinds))]


def _rows(statement: str, *values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return list(cursor.fetchall())
