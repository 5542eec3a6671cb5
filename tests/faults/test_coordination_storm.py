"""A storm over coordination: roles killed, lines to both engines cut, queues purged, a reader away for long. Once all
are back, everything is equal after about as long as the work takes by itself, and a few repeats."""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from config.engines.amqp import connect
from processes.coordination.protocol.steps import REPEAT_AFTER
from tests.faults.test_coordination_killed import (
    ROLES,
    ROWS,
    SCALE,
    SETS,
    UNDER_WAY,
    Deployment,
    _empty_queues,
    deployment,
    logs,
)
from tests.faults.wait import wait_until

__all__ = ["_empty_queues", "deployment"]
pytestmark = [pytest.mark.broker, pytest.mark.timeout(3600)]
AWAY_SECONDS = max(3.0, 60 * SCALE)
REPEATS = 3
"""So many times, one after the other, something may have to be told again; each costs ten seconds."""
CUT = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()"""
QUEUES = ("coordination.writer", "coordination.coordinator", "coordination.reader.main")


def test_after_a_storm_settling_takes_as_long_as_the_work(deployment: Deployment) -> None:
    began = time.monotonic()
    _write(deployment, lambda writing: None)
    assert wait_until(lambda: _is_equal(deployment), 600), logs(deployment)
    work = time.monotonic() - began
    _write(deployment, lambda writing: _rage(deployment, writing), seeds=(3, 4))
    began = time.monotonic()
    assert wait_until(lambda: _is_equal(deployment), 3 * work + 300), logs(deployment)
    settled = time.monotonic() - began
    print(f"{2 * SETS} change sets: the work {work:.1f} s, settled after the storm in {settled:.1f} s")
    assert settled < work + REPEATS * REPEAT_AFTER.total_seconds()


def _write(deployment: Deployment, meanwhile: Any, seeds: tuple[int, ...] = (1, 2)) -> None:
    with ThreadPoolExecutor() as threads:
        writing = [threads.submit(deployment.write, seed) for seed in seeds]
        meanwhile(writing)
        for each in writing:
            each.result()


def _rage(deployment: Deployment, writing: list[Any]) -> None:
    """Nine kills, five cuts, three purges; and a reader that comes back last."""
    choice = random.Random(5)
    strokes = ["kill"] * 9 + ["cut"] * 5 + ["purge"] * 3
    choice.shuffle(strokes)
    deployment.kill("reader/main")
    away_until = time.monotonic() + AWAY_SECONDS
    for stroke in strokes:
        time.sleep(choice.uniform(0.1, 0.6))
        if stroke == "kill":
            role = choice.choice([each for each in ROLES if each != "reader/main"])
            deployment.kill(role)
            deployment.start(role)
        elif stroke == "cut":
            with psycopg.connect(deployment.reader) as connection:
                connection.execute(CUT)
        else:
            _purge()
    time.sleep(max(0.0, away_until - time.monotonic()))
    while not all(each.done() for each in writing):
        time.sleep(0.2)
    _purge()  # what has come for the reader meanwhile is gone
    deployment.start("reader/main")


def _purge() -> None:
    connection = connect()
    for queue in QUEUES:
        connection.channel().queue_purge(queue)
    connection.close()


def _is_equal(deployment: Deployment) -> bool:
    if deployment.rows(deployment.database, UNDER_WAY) != [(0,)]:
        return False
    ours, theirs = (ROWS.format(f"coordination_{part}dummyitem") for part in ("", "reader_"))
    return deployment.rows(deployment.database, ours) == deployment.rows(deployment.reader, theirs)
