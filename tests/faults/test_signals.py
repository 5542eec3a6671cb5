"""Signals end to end under fire: consumers killed at random, history's engine away. Nothing lost, nothing twice."""

import itertools
import os
import random
import time
import uuid
from collections import defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import clickhouse_driver
import pytest

from config.common.times import to_milliseconds
from sensors.simulation.fleet import Fleet, Habits, Message
from tests.faults.process_group import ProcessGroup
from tests.faults.product import migrated_database
from tests.faults.wait import wait_until
from tests.sensors.amqp import Broker, broker
from tests.servers.clickhouse import ClickHouseServer

__all__ = ["broker"]
pytestmark = [pytest.mark.broker, pytest.mark.timeout(1800)]

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
SIGNALS, SENSORS = int(200_000 * SCALE), int(10_000 * SCALE)
KILLS = max(4, int(40 * SCALE))
PATIENCE = 60 + 600 * SCALE


@pytest.fixture
def group(tmp_path: Path, servers: Any) -> Iterator[ProcessGroup]:
    name = f"drill_{uuid.uuid4().hex[:8]}"
    client = clickhouse_driver.Client.from_url(servers.clickhouse)
    client.execute(f"CREATE DATABASE {name}")
    with migrated_database(servers.database) as database:
        clickhouse = servers.clickhouse.rpartition("/")[0] + f"/{name}"
        made = ProcessGroup(tmp_path, DATABASE_URL=database, AMQP_URL=servers.amqp, CLICKHOUSE_URL=clickhouse)
        yield made
        made.end()
    client.execute(f"DROP DATABASE {name}")
    client.disconnect()


def fleet_messages() -> tuple[Fleet, list[Message]]:
    """Signals of the last hour with plenty of repeats and disorder."""
    fleet = Fleet(SENSORS, seed=5, habits=Habits(changes=0.3, duplicates=0.1, disorder=0.2, silences=0))
    start = datetime.now(UTC) - timedelta(hours=1)
    sent: list[Message] = []
    for n in itertools.count():
        if len(sent) >= SIGNALS:
            return fleet, sent + fleet.rest()
        sent += fleet.signals(start + timedelta(hours=1) * n / SIGNALS)
    raise AssertionError("unreachable")


def check_states_and_events(group: ProcessGroup, sent: list[Message]) -> None:
    greatest: dict[str, Message] = {}
    for message in sent:
        known = greatest.get(message["sensor_id"])
        if known is None or (message["at"], message["id"]) > (known["at"], known["id"]):
            greatest[message["sensor_id"]] = message
    expected = {sensor_id: message["data"] for sensor_id, message in greatest.items()}
    states = dict(group.rows("SELECT sensor_id, value FROM sensors_sensorstate WHERE value IS NOT NULL"))
    assert states == expected
    steps: dict[str, list[int]] = defaultdict(list)
    for subject, data in group.rows(
        "SELECT subject, (payload->>'data')::int FROM notifications_event "
        "WHERE type = 'sensor.state_changed' ORDER BY id"
    ):
        steps[subject.removeprefix("sensor/")].append(data)
    assert {sensor_id: values[-1] for sensor_id, values in steps.items()} == expected
    for values in steps.values():
        assert all(one != following for one, following in itertools.pairwise(values))


def history(url: str) -> list[tuple[str, int, str, int]]:
    """Return what history answers, each signal as it is kept: repeats within the engine are one by key."""
    client = clickhouse_driver.Client.from_url(url)
    rows = client.execute("SELECT sensor_id, at, at_ms, id, data FROM signals LIMIT 1 BY sensor_id, at, at_ms, id")
    client.disconnect()
    return [(sensor_id, to_milliseconds(at.replace(tzinfo=UTC)) + ms, id, data) for sensor_id, at, ms, id, data in rows]


def wanted(sent: list[Message]) -> list[tuple[str, int, str, int]]:
    return sorted(
        {(m["sensor_id"], to_milliseconds(datetime.fromisoformat(m["at"])), m["id"], m["data"]) for m in sent}
    )


def test_consumers_killed_at_random_lose_and_double_nothing(group: ProcessGroup, broker: Broker) -> None:
    chance = random.Random(11)
    fleet, sent = fleet_messages()
    group.register(fleet.sensor_ids)
    for name in ("ingest-1", "ingest-2"):
        group.start(name, "run_ingest")
    for name in ("history-1", "history-2"):
        group.start(name, "run_history")
    for wave in range(KILLS):
        assert wait_until(lambda: broker.listeners() == 2, 60), group.logs()
        broker.send_all(sent[wave::KILLS], delivery_mode=2)
        time.sleep(chance.random() * 0.3)
        victim, command = chance.choice([("ingest-1", "run_ingest"), ("ingest-2", "run_ingest")])
        group.kill(victim)
        group.start(victim, command)
    target = wanted(sent)
    url = group.product.environment["CLICKHOUSE_URL"]
    assert wait_until(lambda: broker.waiting() == 0 and _history_so_far(url) >= len(target), PATIENCE), group.logs()
    check_states_and_events(group, sent)
    assert sorted(history(url)) == target


def test_without_clickhouse_states_are_complete_and_history_follows_when_it_returns(
    tmp_path: Path, servers: Any, broker: Broker
) -> None:
    fleet, sent = fleet_messages()
    with ClickHouseServer() as clickhouse, migrated_database(servers.database) as database:
        clickhouse.stop()
        group = ProcessGroup(tmp_path, DATABASE_URL=database, AMQP_URL=servers.amqp, CLICKHOUSE_URL=clickhouse.url)
        try:
            group.register(fleet.sensor_ids)
            group.start("ingest", "run_ingest")
            group.start("history", "run_history")
            broker.send_all(sent, delivery_mode=2)
            seen = "SELECT count(*) FROM sensors_sensorstate WHERE seen_at IS NOT NULL"
            assert wait_until(lambda: broker.waiting() == 0 and group.rows(seen)[0][0] > 0, PATIENCE), group.logs()
            time.sleep(1)
            check_states_and_events(group, sent)
            clickhouse.start()
            target = wanted(sent)
            assert wait_until(lambda: _history_so_far(clickhouse.url) >= len(target), PATIENCE), group.logs()
            assert sorted(history(clickhouse.url)) == target
        finally:
            group.end()


def _history_so_far(url: str) -> int:
    """Count what is there; at first there is no table yet, or no server."""
    try:
        return len(history(url))
    except (clickhouse_driver.errors.Error, OSError):
        return 0
