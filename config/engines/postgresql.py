"""PostgreSQL outside of the pool, for what must not wait for a free connection; and bounds of waiting for it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import connection, connections
from psycopg import sql

from config.engines.quorum import QuorumConnection

HEALTH_SECONDS = 2
"""libpq takes a second as two."""
PROBE_SECONDS = 10
PROBE_ROWS = 50_000
"""About a megabyte and a half of them, more than the server may keep in memory for the statement."""


def connect(**options: Any) -> psycopg.Connection[Any]:
    """Open a connection of its own to the default database, in autocommit mode."""
    parameters = {**connection.get_connection_params(), **options}
    return QuorumConnection.connect(**parameters, autocommit=True)


def health() -> None:
    """Raise unless a server lets a client in and, where it has standbys, they confirm a commit."""
    connect(connect_timeout=HEALTH_SECONDS).close()


@contextmanager
def limit_silence(alias: str, seconds: float) -> Iterator[None]:
    """Let the block wait no longer for a connection to a database, nor for a word of its server to a statement.

    A database in a file is not asked over a network, and has no such limit.
    """
    database: Any = connections[alias]
    if database.vendor != "postgresql":
        yield
        return
    if database.pool is not None:
        # Of the whole pool in this process: Django asks it for a connection without saying how long it waits. What is
        # being connected meanwhile goes on in the pool's own threads, and is there for a later call.
        database.pool.timeout = seconds
    database.ensure_connection()
    session = database.connection
    session.silence_limit = seconds
    try:
        yield
    finally:
        session.silence_limit = None


def probe_disk() -> None:
    """Make the server write a temporary file where its tables are, as every large sort does; a full disk refuses.

    A row that is written proves nothing: it may find room in a page that is there already.
    """
    options = f"-c work_mem=64kB -c statement_timeout={PROBE_SECONDS}s"
    with connect(connect_timeout=HEALTH_SECONDS, options=options) as session:
        session.execute(sql.SQL("SELECT count(*) FROM generate_series(1, {})").format(PROBE_ROWS))
