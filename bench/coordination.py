"""Coordination: entity changes a second from the Writer to the Reader, committed on both, against a plain outbox relay
of the same rows.

Both sides write rows in one database and have them in a second one in the end, through the same broker. The clock runs
from the first change until the last is through: ours until the Writer knows every event as Committed, the relay's until
the second database holds every row. The same number of threads write; each participant is a process of its own.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from urllib.parse import urlsplit, urlunsplit

import psycopg
from django.db import connection
from django.utils import timezone

from bench import relay
from bench.figure import Figure, compare
from bench.fresh_database import NAME
from bench.ingest import wait_for
from config.common.background.process_control import die_with_parent
from config.engines.amqp import connect
from processes.coordination.models import AppEvent
from processes.coordination.protocol.messages import COORDINATOR, WRITER, queue_of_reader
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.schema.entities import DUMMY_ITEM, Op
from processes.coordination.writer.change_sets import RequestedChange, apply_change_set

CALLERS = 4
PARALLEL = 500
"""COORDINATION_PARALLEL; its default of one event at a time is the document's."""
SINGLE, LISTS, LIST = 2_000, 20_000, 100
ROLES = ("writer", "coordinator", "reader/main")


def figures() -> list[Figure]:
    with _reader_database(), ExitStack() as processes:
        _delete_queues()
        relay.make_tables()
        for part in ("publisher", "consumer"):
            processes.enter_context(_process("-m", "bench.relay", part))
        for role in ROLES:
            processes.enter_context(_process("manage.py", "run_coordination", "--role", role))
        return [
            _figure("coordination", SINGLE, 1),
            _figure("coordination, lists", LISTS, LIST),
        ]


def _delete_queues() -> None:
    """What a run that was broken off has left there speaks of events that other ones now have the numbers of."""
    line = connect()
    for queue in (WRITER, COORDINATOR, queue_of_reader("main")):
        line.channel().queue_delete(queue)
    line.close()


def _figure(name: str, changes: int, each: int) -> Figure:
    return compare(
        name,
        "changes/s",
        ours=partial(_ours, changes, each),
        yardstick=partial(_theirs, changes, each),
        must=0.05,
        aims=0.2,
    )


def _ours(changes: int, each: int) -> float:
    began = time.perf_counter()
    _write(changes // each, partial(_change, each))
    wait_for(_are_all_committed)
    return changes / (time.perf_counter() - began)


def _theirs(changes: int, each: int) -> float:
    before = relay.count_arrived()
    began = time.perf_counter()
    _write(changes // each, partial(_insert, each))
    wait_for(lambda: relay.count_arrived() == before + changes)
    return changes / (time.perf_counter() - began)


def _write(transactions: int, by: Callable[[int], None]) -> None:
    """Let several threads make so many transactions together."""
    callers = [threading.Thread(target=by, args=(transactions // CALLERS,)) for _ in range(CALLERS)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()


def _change(each: int, transactions: int) -> None:
    for number in range(transactions):
        rows = [RequestedChange(DUMMY_ITEM, Op.INSERT, fields={"name": f"{number}-{place}"}) for place in range(each)]
        apply_change_set(rows, at=timezone.now())
    connection.close()


def _insert(each: int, transactions: int) -> None:
    with relay.open_writer() as database:
        for number in range(transactions):
            relay.write(database, [f"{number}-{place}" for place in range(each)])


def _are_all_committed() -> bool:
    return not AppEvent.objects.exclude(app_event_status_id=EventStatus.COMMITTED.value).exists()


@contextmanager
def _reader_database() -> Iterator[None]:
    """Give the Reader a database of its own, with its tables; drop it in the end."""
    name = f"{NAME}_reader"
    url = urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}"))
    os.environ["READER_DATABASE_URL"] = os.environ[relay.READER] = url
    with psycopg.connect(os.environ["TEST_DATABASE_URL"], autocommit=True) as server:
        server.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        server.execute(f"CREATE DATABASE {name}")
        try:
            migrate = [sys.executable, "manage.py", "migrate", "--database", "reader_main", "--verbosity", "0"]
            subprocess.run(migrate, check=True)
            yield
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def _process(*arguments: str) -> Iterator[None]:
    bench = os.getpid()
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env=os.environ | {"COORDINATION_PARALLEL": str(PARALLEL)},
        preexec_fn=lambda: die_with_parent(bench),
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(20)
