"""Copies of the main database: one moment of it, while writes go on."""

import os
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from psycopg.conninfo import make_conninfo
from psycopg.pq import Conninfo

from config.engines import postgresql

Progress = Callable[[str, int, int], Any]
"""What is copied, how much of it is done and how much there is."""

WATCH_SECONDS = 0.5
ONE_TRANSACTION = ("--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error")
TOOLS = "the PostgreSQL client programs are needed on this machine (package postgresql-client)"


class CopyFailed(Exception):
    """The database could not be copied or put back."""


def file_name() -> str:
    return "database.dump" if connection.vendor == "postgresql" else "database.sqlite3"


def copy_database(target: Path, progress: Progress) -> None:
    """Write one moment of the database to a file."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            size = int(cursor.fetchone()[0])
        with _watched(target, progress, size):
            _run("pg_dump", _address(), "--format=custom", "--no-owner", "--no-privileges", f"--file={target}")
        return
    source = Path(settings.DATABASES["default"]["NAME"])
    with (
        _watched(target, progress, source.stat().st_size),
        closing(_open_sqlite(source)) as kept,
        closing(sqlite3.connect(target)) as copy,
    ):
        # All pages in one step: in several, each write of another process would have it begin anew.
        kept.backup(copy, pages=-1)


def check_copy(copy: Path) -> None:
    """Raise `CopyFailed` unless the copy can be put back."""
    if connection.vendor == "postgresql":
        _run("pg_restore", "--list", str(copy))
        return
    try:
        with closing(_open_sqlite(copy)) as opened:
            found = [row[0] for row in opened.execute("PRAGMA quick_check")]
    except sqlite3.DatabaseError as error:
        raise CopyFailed(f"the copy of the database cannot be read: {error}") from error
    if found != ["ok"]:
        raise CopyFailed(f"the copy of the database is damaged: {found[0]}")


def load_postgresql(copy: Path) -> None:
    """Replace everything in the database by the copy, in one transaction."""
    # What was added since the copy was made is in no list of its own: the schema goes as a whole.
    with postgresql.connect() as session:
        session.execute("SET lock_timeout = '10s'")
        with session.transaction():
            session.execute("DROP SCHEMA public CASCADE")
            session.execute("CREATE SCHEMA public")
    _run("pg_restore", _address(), *ONE_TRANSACTION, str(copy))


def count_other_sessions() -> int:
    """Count who else is connected to the database; with SQLite nobody can be seen."""
    if connection.vendor != "postgresql":
        return 0
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        return int(cursor.fetchone()[0])


def applied_migrations() -> list[str]:
    return sorted(f"{app}.{name}" for app, name in MigrationRecorder(connection).applied_migrations())


def _open_sqlite(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=30)


def _address() -> str:
    """Return where the database is as an argument of PostgreSQL's programs, without its password."""
    keywords = {option.keyword.decode() for option in Conninfo.get_defaults()} - {"password"}
    given = {name: value for name, value in connection.get_connection_params().items() if name in keywords}
    return f"--dbname={make_conninfo(**given)}"


def _run(program: str, *arguments: str) -> None:
    """Run a program of PostgreSQL; the password goes by the environment, where other users do not see it."""
    environment = os.environ | {"PGPASSWORD": str(connection.settings_dict["PASSWORD"] or "")}
    try:
        done = subprocess.run([program, *arguments], env=environment, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise CopyFailed(f"{program} is not there: {TOOLS}") from error
    if done.returncode:
        raise CopyFailed(f"{program}: {done.stderr.strip()[-2000:]}")


@contextmanager
def _watched(target: Path, progress: Progress, size: int) -> Iterator[None]:
    """Report how large the copy has become, while it is made."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(WATCH_SECONDS):
            progress("database", target.stat().st_size if target.exists() else 0, size)

    watcher = threading.Thread(target=watch, name="backup-progress")
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()
