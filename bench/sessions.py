"""Sessions: saved, repeated and deleted a second, against jobs of procrastinate deferred, run and deleted; and what
one costs among a million saved ones.

Both sides do the same in the same PostgreSQL: as many threads of this process save one by one, each call returning when
its own is durable, while one worker process with as many places repeats what is due. The handlers look at a number and
return. The clock runs from the first save until the last row is gone. Ours lets calls that come at the same time share
a commit, behind the same call; the batch calls of both are left out. procrastinate runs as fast as it can be set up to:
by its psycopg 3 connector, with a coroutine as the job, woken by notifications, what is done deleted by the finishing
statement.

For the growth there are two databases that differ in nothing but the number of saved sessions, due tomorrow. They are
measured in turns and without threads: what is timed is a save and its share of a look, a claim, the repeats and the
deletion. Commits do not wait for the disk there: that wait is the same in both, and would hide what grows.
"""

import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import procrastinate
import psycopg
from django.db import connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper

from bench.figure import ROUNDS, Figure, compare, report, seconds
from bench.ingest import wait_for
from bench.jobs import CONCURRENCY, TASK, make_app
from bench.repeats import HANDLER, register
from config.common.background.process_control import die_with_parent
from notifications.models import Theme
from notifications.sessions.claims import claim_due, find_nearest_times
from notifications.sessions.enqueue import enqueue_session
from notifications.sessions.outcomes import Outcome, Result, record_outcomes
from notifications.sessions.repeat import Repeat

SESSIONS, JOBS, CALLERS = 20_000, 3_000, 8
THEME = 1
FEW, MANY = 1_000, 1_000_000
CYCLES, EACH = 40, 10


def figures() -> list[Figure]:
    register()
    Theme.objects.create(number=THEME, handler=HANDLER, delay=0)
    return [_speed(), _growth()]


def _speed() -> Figure:
    with make_app().open() as app, _worker("sessions"):
        app.schema_manager.apply_schema()
        with _worker("jobs"):
            return compare(
                "sessions",
                "sessions/s",
                ours=partial(_time, _save, SESSIONS, "notifications_repeatsession"),
                yardstick=partial(_time, partial(_defer, app), JOBS, "procrastinate_jobs"),
                must=3,
                aims=10,
            )


def _defer(app: procrastinate.App, number: int) -> None:
    app.tasks[TASK].defer(number=number)


def _save(number: int) -> None:
    enqueue_session(theme=THEME, records=[number], delay=0)


def _time(save: Callable[[int], None], count: int, table: str) -> float:
    """Save so many from several threads; return how many a second had gone their whole way."""
    began = time.perf_counter()
    callers = [threading.Thread(target=_save_share, args=(save, number, count)) for number in range(CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    wait_for(partial(_is_empty, table))
    return count / (time.perf_counter() - began)


def _save_share(save: Callable[[int], None], first: int, count: int) -> None:
    for number in range(first, count, CALLERS):
        save(number)
    connection.close()


def _is_empty(table: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT NOT EXISTS (SELECT FROM {table})")
        return bool(cursor.fetchone()[0])


@contextmanager
def _worker(kind: str) -> Iterator[None]:
    bench = os.getpid()
    process = subprocess.Popen(
        [sys.executable, "-m", "bench.repeats", kind],
        env=os.environ | {"SESSION_WORKERS": str(CONCURRENCY)},
        stdout=subprocess.PIPE,
        preexec_fn=lambda: die_with_parent(bench),
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"ready\n"
        yield
    finally:
        process.terminate()
        process.wait(20)


def _growth() -> Figure:
    """Measure in turns, cycle by cycle, with a thousand saved sessions and with a million."""
    own = connections["default"]
    with _copy(own, FEW) as few, _copy(own, MANY) as many:
        try:
            times = [(_cost(many), _cost(few)) for _ in range(CYCLES * (ROUNDS + 1))]
        finally:
            connections["default"] = own
    # The first round prepares statements and fills caches.
    ours, theirs = (statistics.median(column) for column in zip(*times[CYCLES:], strict=True))
    return report("sessions growth", "µs/session", ours * 1e6, theirs * 1e6, must=1.3, aims=1.1)


@contextmanager
def _copy(own: Any, count: int) -> Iterator[BaseDatabaseWrapper]:
    """Copy the database, with so many saved sessions, and connect to the copy; drop it in the end."""
    name = own.settings_dict["NAME"]
    copy = f"{name}_{count}"
    # A database that is in use cannot be copied.
    own.close()
    own.close_pool()
    with psycopg.connect(os.environ["TEST_DATABASE_URL"], autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {copy} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {copy} TEMPLATE {name}")
        try:
            yield _connect(own, copy, count)
        finally:
            server.execute(f"DROP DATABASE {copy} WITH (FORCE)")


def _connect(own: BaseDatabaseWrapper, database: str, count: int) -> BaseDatabaseWrapper:
    made = connections.create_connection("default")
    options = {name: value for name, value in own.settings_dict["OPTIONS"].items() if name != "pool"}
    made.settings_dict = own.settings_dict | {"NAME": database, "OPTIONS": options}
    with made.cursor() as cursor:
        cursor.execute("SET synchronous_commit = off")
        cursor.execute(
            "WITH fresh AS (INSERT INTO notifications_repeatsession (theme_id, change, status, is_repeating, length, "
            "record_count, repeats, save_number, due_at, correlation_id) "
            "SELECT %s, 1, 'saved', false, 3, 1, 0, nextval('notifications_save_number'), "
            "now() + interval '1 day' + n * interval '1 ms', md5(n::text) FROM generate_series(1, %s) AS n "
            "RETURNING id) "
            "INSERT INTO notifications_sessionrecord (session_id, position, body) SELECT id, 0, '1' FROM fresh",
            [THEME, count],
        )
        cursor.execute("VACUUM ANALYZE notifications_repeatsession, notifications_sessionrecord")
    return made


def _cost(database: BaseDatabaseWrapper) -> float:
    """Return the seconds that one session costs from its save to its end."""
    connections["default"] = database
    return seconds(_cycle) / EACH


def _cycle() -> None:
    for number in range(EACH):
        _save(number)
    find_nearest_times()
    ended: list[Outcome] = []

    def settle(outcome: Outcome, *, wait: bool) -> bool:
        assert outcome.result is Result.SUCCEEDED, outcome
        ended.append(outcome)
        return wait

    for claim in claim_due(EACH):
        Repeat(claim).run(settle)
    assert len(record_outcomes(ended)) == EACH
