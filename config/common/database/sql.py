"""SQL statements by name: one statement a file, in the `sql` folder of the package that runs it."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib import resources
from typing import Any
from uuid import UUID

import msgspec
import psycopg
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Func, IntegerField, Subquery
from django.db.models.expressions import RawSQL
from django.db.models.sql.compiler import SQLCompiler

from config.common.database.failures import mark_if_lost


@cache
def load_sql(package: str, name: str) -> str:
    """Return the text of `<package>/sql/<name>.sql`."""
    return (resources.files(package) / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def load_engine_sql(package: str, name: str) -> str:
    """Return `<name>.postgresql.sql` or `<name>.sqlite.sql`, where one statement cannot serve both."""
    return load_sql(package, f"{name}.{connection.vendor}")


class CountUpTo(Subquery):
    """How many rows a query finds, up to its own limit: a page about a million rows must cost what one of few does."""

    template = "(SELECT count(*) FROM (%(subquery)s) AS counted)"
    output_field = IntegerField()


class ArrayLength(Func):
    """How many elements a column of JSON holds that is an array."""

    function = "jsonb_array_length"
    output_field = IntegerField()

    def as_sqlite(self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **context: Any) -> Any:
        return super().as_sql(compiler, connection, function="json_array_length", **context)


def in_array(values: Collection[str], *, alias: str = DEFAULT_DB_ALIAS) -> RawSQL:
    """Make a set of one parameter for `__in`, whatever its size: SQLite limits parameters, and each costs time."""
    return _value_subquery(values, "text", alias)


def in_number_array(values: Collection[int], *, alias: str = DEFAULT_DB_ALIAS) -> RawSQL:
    """Make the same of numbers. They need no quotes, so PostgreSQL's list is made by hand, faster than the driver's."""
    if connections[alias].vendor == "postgresql":
        return RawSQL("SELECT unnest(%s::bigint[])", ["{" + ",".join(map(str, values)) + "}"])
    return _value_subquery(values, "bigint", alias)


def number_array(values: Sequence[int | None]) -> str:
    """Make a parameter for `%b::text::bigint[]`: by hand, which takes the driver several times as long."""
    return "{" + str(list(values))[1:-1].replace("None", "NULL") + "}"


def forget_cached_plans() -> None:
    """Have PostgreSQL plan anew what this connection has planned; call it after a bulk write, before its commit.

    The checks of foreign keys run at the commit by plans that a connection keeps. One made while the table had a single
    page reads the whole table for each row: 20,000 new rows took 46 s instead of 2.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("DISCARD PLANS")


def bulk_execute(package: str, name: str, rows: Sequence[Sequence[Any]]) -> int:
    """Run a statement that writes many rows: one round trip with arrays on PostgreSQL, row by row inside SQLite.

    Return how many rows it wrote. The PostgreSQL form takes each column as an array (`unnest(%b::text[], …)`), the
    SQLite form the cells of one row.
    """
    if not rows:
        return 0
    statement = load_engine_sql(package, name)
    if connection.vendor == "postgresql":
        with postgresql_cursor() as bulk:
            bulk.execute(statement, _columns(rows))
            return bulk.rowcount
    with connection.cursor() as cursor:
        cursor.executemany(statement, [list(map(_sqlite_cell, row)) for row in rows])
        return int(cursor.rowcount)


def bulk_fetch(package: str, name: str, rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Run the PostgreSQL form of a statement over many rows and return what it returns."""
    with postgresql_cursor() as bulk:
        bulk.execute(load_sql(package, f"{name}.postgresql"), _columns(rows))
        return bulk.fetchall()


def fetch_row(package: str, name: str, values: Sequence[Any]) -> tuple[Any, ...] | None:
    """Return the first row of a statement that every call runs: making a query set of it costs more than running it."""
    with connection.cursor() as cursor:
        cursor.execute(load_sql(package, name), values)
        row: tuple[Any, ...] | None = cursor.fetchone()
        return row


def as_utc(value: datetime) -> datetime:
    """Return a time as the models have it; SQLite gives one without its zone, which is UTC."""
    return value.replace(tzinfo=UTC) if value.tzinfo is None else value


@contextmanager
def postgresql_cursor(
    *, alias: str = DEFAULT_DB_ALIAS, commits: bool = False
) -> "Iterator[psycopg.Cursor[tuple[Any, ...]]]":
    """Bind on the server, in binary: arrays cost a sixth of what they cost as text. `prepare=True` keeps the plan.

    `commits` is for a statement that is a transaction by itself: where its answer is lost, nobody knows its outcome.
    """
    database = connections[alias]  # the name `connection` looks it up anew each time it is asked something
    database.ensure_connection()
    with database.wrap_database_errors, psycopg.Cursor(database.connection) as cursor:
        try:
            yield cursor
        except psycopg.OperationalError as error:
            if commits and not database.in_atomic_block:
                mark_if_lost(error)
            raise


def _columns(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _value_subquery(values: Collection[Any], kind: str, alias: str = DEFAULT_DB_ALIAS) -> RawSQL:
    if connections[alias].vendor == "postgresql":
        return RawSQL(f"SELECT unnest(%s::{kind}[])", [list(values)])
    return RawSQL("SELECT value FROM json_each(%s)", [msgspec.json.encode(list(values)).decode()])


def _sqlite_cell(cell: Any) -> Any:
    """Return a value as Django stores it in SQLite, which knows neither UUIDs nor times."""
    if isinstance(cell, UUID):
        return cell.hex
    return _format_sqlite_time(cell) if isinstance(cell, datetime) else cell


# Many rows of one call carry the same time.
_format_sqlite_time = lru_cache(maxsize=1000)(lambda time: connection.ops.adapt_datetimefield_value(time))
