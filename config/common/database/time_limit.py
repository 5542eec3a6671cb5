"""Reads that may look through a whole table: they end when their time is over, with what was found until then."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from django.db import OperationalError, connection, transaction
from django.db.models import QuerySet

SQLITE_STEPS = 1000
"""After so many steps of its machine SQLite asks whether to go on: well under a millisecond."""
_CANCELED = "57014"

T = TypeVar("T")


def read_within(rows: "QuerySet[Any, T]", seconds: float) -> tuple[list[T], bool]:
    """Return the rows that were found in this time, and whether those are all."""
    found: list[T] = []
    limit = _postgresql_limit if connection.vendor == "postgresql" else _sqlite_limit
    try:
        with limit(seconds):
            # One by one from SQLite: those before the interruption have been found. PostgreSQL answers all or nothing.
            found.extend(rows if connection.vendor == "postgresql" else rows.iterator(chunk_size=1))
    except OperationalError as error:
        is_over = getattr(error.__cause__, "sqlstate", "") == _CANCELED or str(error) == "interrupted"
        if not is_over:
            raise
        return found, False
    return found, True


@contextmanager
def _postgresql_limit(seconds: float) -> Iterator[None]:
    # A savepoint where there is a transaction already: the canceled statement must not end it.
    is_nested = connection.in_atomic_block
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL statement_timeout = {max(1, round(seconds * 1000))}")
        yield
        if is_nested:  # else it ends with this transaction
            cursor.execute("SET LOCAL statement_timeout TO DEFAULT")


@contextmanager
def _sqlite_limit(seconds: float) -> Iterator[None]:
    connection.ensure_connection()
    until = time.monotonic() + seconds
    connection.connection.set_progress_handler(lambda: time.monotonic() > until, SQLITE_STEPS)
    try:
        yield
    finally:
        connection.connection.set_progress_handler(None, 0)
