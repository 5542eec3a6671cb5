"""Consumers that stand still for longer than a sensor's timeout: a backlog is not silence."""

import signal
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.faults.process_group import ProcessGroup
from tests.faults.product import migrated_database
from tests.faults.wait import wait_until
from tests.sensors.amqp import Broker, broker

__all__ = ["broker"]
pytestmark = [pytest.mark.broker, pytest.mark.timeout(1800)]

CONSUMERS = ("ingest-1", "ingest-2")
TIMEOUT = timedelta(seconds=5)
STANDSTILL = 8.0


@pytest.fixture
def group(tmp_path: Path, servers: Any, broker: Broker) -> Iterator[ProcessGroup]:
    """Two consumers with small batches, a scheduler, and two sensors that may be silent for five seconds."""
    with migrated_database(servers.database) as database:
        made = ProcessGroup(tmp_path, DATABASE_URL=database, AMQP_URL=servers.amqp, INGEST_BATCH="10")
        made.register(["talker", "silent"], timeout=TIMEOUT.seconds)
        made.start("scheduler", "run_scheduler")
        for name in CONSUMERS:
            made.start(name, "run_ingest")
        yield made
        made.end()


def speak(broker: Broker, seconds: float, *, until: Callable[[], object] = lambda: False) -> bool:
    """Let the talker send signals, as it always does; return whether the condition held in time."""

    def say_and_look() -> object:
        broker.send({"sensor_id": "talker", "data": 1}, delivery_mode=2)
        return until()

    return wait_until(say_and_look, seconds)


def seen(group: ProcessGroup) -> dict[str, datetime]:
    return dict(group.rows("SELECT sensor_id, seen_at FROM sensors_sensorstate WHERE seen_at IS NOT NULL"))


def losses(group: ProcessGroup) -> list[tuple[str, datetime]]:
    return group.rows("SELECT subject, at FROM notifications_event WHERE type LIKE 'sensor.connection_%' ORDER BY id")


def delay_of_the_newest(group: ProcessGroup) -> timedelta:
    """Return how long after its deadline the last loss was noticed."""
    delay: timedelta = group.rows("SELECT recorded_at - at FROM notifications_event ORDER BY id DESC LIMIT 1")[0][0]
    return delay


def are_overdue(group: ProcessGroup) -> bool:
    now = group.rows("SELECT clock_timestamp()")[0][0]
    return all(now - seen_at > TIMEOUT for seen_at in seen(group).values())


def stop(group: ProcessGroup) -> None:
    for name in CONSUMERS:
        group.stop(name)


def start(group: ProcessGroup) -> None:
    for name in CONSUMERS:
        group.start(name, "run_ingest")


def pause(group: ProcessGroup) -> None:
    """They keep what the broker has sent them: the queue looks empty."""
    for name in CONSUMERS:
        group.processes[name].send_signal(signal.SIGSTOP)


def go_on(group: ProcessGroup) -> None:
    for name in CONSUMERS:
        group.processes[name].send_signal(signal.SIGCONT)


@pytest.mark.parametrize(("stand_still", "work"), [(stop, start), (pause, go_on)], ids=["stopped", "paused"])
def test_a_backlog_is_no_silence_and_true_silence_is_told_once_it_is_worked_off(
    group: ProcessGroup,
    broker: Broker,
    stand_still: Callable[[ProcessGroup], None],
    work: Callable[[ProcessGroup], None],
) -> None:
    assert speak(broker, 90, until=lambda: len(group.rows("SELECT FROM sensors_consumermark")) == 2), group.logs()
    broker.send({"sensor_id": "silent", "data": 1})
    assert speak(broker, 30, until=lambda: "silent" in seen(group)), group.logs()
    stand_still(group)

    speak(broker, STANDSTILL)
    assert are_overdue(group), "without the watermark both would be lost by now"
    assert losses(group) == []

    work(group)
    assert speak(broker, 90, until=lambda: losses(group)), group.logs()
    speak(broker, 2)
    assert losses(group) == [("sensor/silent", cut(seen(group)["silent"] + TIMEOUT))]

    assert wait_until(lambda: len(losses(group)) == 2, 60), "the talker has fallen silent as well"
    assert delay_of_the_newest(group) < timedelta(seconds=30)


def cut(at: datetime) -> datetime:
    return at.replace(microsecond=at.microsecond // 1000 * 1000)
