"""`run_ingest` as an operator runs it: in a process of its own, with a large backlog before it."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from sensors.ingest.signals import MAX_BODY
from tests.faults.forkserver import ForkedProcess
from tests.faults.process_group import ProcessGroup
from tests.faults.product import migrated_database
from tests.faults.wait import wait_until
from tests.sensors.amqp import Broker, broker

__all__ = ["broker"]
pytestmark = [pytest.mark.broker, pytest.mark.timeout(1800), pytest.mark.slow]

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
SENSORS = 500
SINGLES, LISTS, LARGE = max(20_000, int(300_000 * SCALE)), max(200, int(2_000 * SCALE)), max(1_000, int(8_000 * SCALE))
LONGEST_LIST = 1000
MB = 1_048_576


@pytest.fixture
def line(tmp_path: Path, servers: Any, broker: Broker) -> Iterator[ProcessGroup]:
    with migrated_database(servers.database) as database:
        made = ProcessGroup(tmp_path, DATABASE_URL=database, AMQP_URL=servers.amqp, INGEST_BATCH="2000")
        made.register([f"s{n}" for n in range(SENSORS)])
        yield made
        made.end()


def signals(first: int, last: int) -> list[dict[str, Any]]:
    at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    return [
        {"sensor_id": f"s{n % SENSORS}", "data": 1, "at": at, "id": f"a-usual-identifier-{n:08}"}
        for n in range(first, last)
    ]


def singles() -> Iterator[Any]:
    yield from signals(0, SINGLES)


def lists() -> Iterator[Any]:
    for start in range(0, LISTS * LONGEST_LIST, LONGEST_LIST):
        yield signals(start, start + LONGEST_LIST)


def largest_bodies() -> Iterator[Any]:
    """Messages as large as they may be, of one signal each: the rest is a field that nobody reads."""
    for each in signals(0, LARGE):
        yield each | {"note": "x" * (MAX_BODY - 300)}


def peak_memory(process: ForkedProcess) -> int:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    [peak] = [line for line in lines if line.startswith("VmHWM")]
    return int(peak.split()[1]) * 1024


def take_history(broker: Broker, count: int) -> set[str]:
    """Return the ids of what was passed on to history, once there are so many."""
    ids: set[str] = set()

    def take() -> bool:
        ids.update(signal.id for signal in broker.history())
        return len(ids) >= count

    wait_until(take, 60 + count / 2000)
    return ids


@pytest.mark.parametrize("backlog", [singles, lists, largest_bodies])
def test_works_off_any_backlog_in_bounded_memory(
    line: ProcessGroup, broker: Broker, backlog: Callable[[], Iterator[Any]]
) -> None:
    sent = broker.send_all(backlog())
    line.start("ingest", "run_ingest")
    assert len(take_history(broker, sent)) == sent, line.logs()
    assert peak_memory(line.processes["ingest"]) < 200 * MB


def test_while_the_database_stalls_it_takes_no_more_than_it_can_hold(line: ProcessGroup, broker: Broker) -> None:
    sent = broker.send_all(lists())
    with psycopg.connect(line.database) as connection:
        connection.execute("LOCK TABLE sensors_sensorstate IN ACCESS EXCLUSIVE MODE")
        line.start("ingest", "run_ingest")
        time.sleep(8)
    assert len(take_history(broker, sent)) == sent, line.logs()
    assert peak_memory(line.processes["ingest"]) < 200 * MB
