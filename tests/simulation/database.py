"""The border to the database: each statement and each commit is a side effect that may go wrong, by the clock of its
node.

The database itself is real. A statement that cannot go on for a lock of somebody else passes the baton on. A connection
that is closed is kept for the next thread that opens one: SQLite would have to learn Django's functions anew.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import Any
from unittest.mock import patch

from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper

from config.engines.sqlite import base as engine
from tests.simulation.scheduler import Killed, Scheduler
from tests.simulation.threads import wall_clock

BUSY_SECONDS = 30.0
_COMMIT: Any = getattr(BaseDatabaseWrapper, "_commit")  # noqa: B009


@contextmanager
def simulated_sqlite(scheduler: Scheduler) -> Iterator[None]:
    """Watch the SQLite of the product."""
    execute, executemany = engine._Cursor.execute, engine._Cursor.executemany
    connect, close = engine.DatabaseWrapper.get_new_connection, engine.DatabaseWrapper._close
    kept = defaultdict[str, list[Any]](list)
    calculator = sqlite3.connect(":memory:", check_same_thread=False)

    def compute(name: str, *values: Any) -> Any:
        told = [_now(scheduler) if isinstance(value, str) and value.lower() == "now" else value for value in values]
        return calculator.execute(f"SELECT {name}({', '.join('?' * len(told))})", told).fetchone()[0]

    def watched_connect(wrapper: Any, parameters: dict[str, Any]) -> Any:
        if kept[wrapper.alias]:
            return kept[wrapper.alias].pop()
        connection = connect(wrapper, parameters)
        for name in ("strftime", "julianday"):
            connection.create_function(name, -1, partial(compute, name))
        return connection

    def keep(wrapper: Any) -> None:
        if wrapper.connection is None or scheduler.process().is_dead:
            close(wrapper)  # who died in the middle of reading would leave what the next one reads
            return
        wrapper.connection.rollback()
        kept[wrapper.alias].append(wrapper.connection)
        wrapper._release_write_lock()

    def watched_execute(cursor: Any, query: str, params: Any = None) -> Any:
        fault = _meet(scheduler, cursor, query)
        result = execute(cursor, query, params)
        if fault == "lie":
            raise _driver_error()
        return result

    def watched_executemany(cursor: Any, query: str, param_list: Any) -> Any:
        _meet(scheduler, cursor, query)
        return executemany(cursor, query, param_list)

    with (
        patch.object(engine.DatabaseWrapper, "get_new_connection", watched_connect),
        patch.object(engine.DatabaseWrapper, "_close", keep),
        patch.object(engine.DatabaseWrapper, "_acquire_write_lock", lambda wrapper: _acquire(scheduler, wrapper)),
        patch.object(engine._Cursor, "execute", watched_execute),
        patch.object(engine._Cursor, "executemany", watched_executemany),
        patch.object(BaseDatabaseWrapper, "_commit", lambda wrapper: _commit(scheduler, wrapper)),
    ):
        yield
    for connection in (calculator, *chain.from_iterable(kept.values())):
        connection.close()


def _meet(scheduler: Scheduler, cursor: Any, query: str) -> str | None:
    """Pass the point of a statement; a write that commits by itself may also succeed and report failure."""
    alone = not cursor.connection.in_transaction and engine._writes(query)
    if query[:9] in ("SAVEPOINT", "RELEASE S", "ROLLBACK "):
        query = query.partition('"')[0]  # its name is that of the thread
    fault = scheduler.point("statement", query, possible=("cut", "lie") if alone else ("cut",))
    if fault == "cut":
        raise _driver_error()
    return fault


def _commit(scheduler: Scheduler, wrapper: Any) -> None:
    if wrapper.connection is None:
        return
    fault = scheduler.point("commit", possible=("refuse", "lie"))
    if fault is None:
        _COMMIT(wrapper)
        return
    if fault == "lie":
        wrapper.connection.commit()
    else:
        wrapper.connection.rollback()
    error = _driver_error()
    raise OperationalError(str(error)) from error


def _driver_error() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    return error


def _acquire(scheduler: Scheduler, wrapper: Any) -> Any:
    lock = engine._locks[str(wrapper.settings_dict["NAME"])]
    if lock.acquire(blocking=False):
        return lock
    scheduler.wait(lambda: not lock.locked(), BUSY_SECONDS)
    if scheduler.process().is_dead:
        raise Killed
    if not lock.acquire(blocking=False):
        raise OperationalError("database is locked: another thread has been writing for too long")
    return lock


def _now(scheduler: Scheduler) -> str:
    return datetime.fromtimestamp(wall_clock(scheduler), UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
