"""`run_history` as an operator runs it: in a process of its own, with a broker of its own."""

import signal as signals
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pika.spec import BasicProperties

from config.engines.amqp import connect
from sensors.history.queue import QUEUE, declare_history_queue, encode_batch
from sensors.history.store import HistoryStore, get_store
from sensors.history.values import Period
from sensors.ingest.signals import Signal
from tests.faults.forkserver import ForkedProcess
from tests.faults.product import Product, migrated_database
from tests.faults.wait import wait_until
from tests.sensors.history.past_records import NOON
from tests.servers.rabbitmq import RabbitMQServer

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

MESSAGES, SPOOLED, SIGNALS = 150, 50, 2000
MB = 1_048_576


@pytest.fixture(scope="module")
def rabbitmq() -> Iterator[RabbitMQServer]:
    with RabbitMQServer() as server:
        yield server


@pytest.fixture
def product(
    tmp_path: Path, rabbitmq: RabbitMQServer, servers: Any, clickhouse_store: HistoryStore, settings: Any
) -> Iterator[Product]:
    settings.AMQP_URL = rabbitmq.url
    engines = {"AMQP_URL": rabbitmq.url, "CLICKHOUSE_URL": settings.CLICKHOUSE_URL, "HISTORY_SECONDS": "1"}
    with migrated_database(servers.database) as database:
        made = Product(tmp_path, DATABASE_URL=database, **engines)
        yield made
        if made.process is not None and made.process.poll() is None:
            made.kill()
        made.close()


def start(product: Product) -> ForkedProcess:
    product.process = child = product.fork("run_history", log=product.folder / "up.log")
    return child


def batch(number: int) -> list[Signal]:
    return [Signal(f"s{n}", NOON + number, f"a-usual-identifier-{number}-{n}", n % 2, NOON) for n in range(SIGNALS)]


def send(first: int, last: int) -> None:
    connection = connect()
    channel = connection.channel()
    declare_history_queue(channel)
    channel.confirm_delivery()
    for number in range(first, last):
        channel.basic_publish("", QUEUE, encode_batch(batch(number)), BasicProperties(delivery_mode=2))
    connection.close()


def spool(product: Product, *numbers: int) -> None:
    with psycopg.connect(product.environment["DATABASE_URL"]) as connection:
        statement = "INSERT INTO sensors_historyspool (batch, fence) VALUES (%s, 0)"
        for number in numbers:
            connection.execute(statement, [encode_batch(batch(number))])


def count_of(sensor_id: str) -> int:
    return len(get_store().read_signals([sensor_id], Period(), limit=1000))


def peak_memory(process: ForkedProcess) -> int:
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    [peak] = [line for line in lines if line.startswith("VmHWM")]
    return int(peak.split()[1]) * 1024


class TestRunHistory:
    def test_works_off_a_backlog_and_the_spool_in_bounded_memory_and_stops_cleanly(self, product: Product) -> None:
        send(0, MESSAGES)
        spool(product, *range(MESSAGES, MESSAGES + SPOOLED))
        process = start(product)
        assert wait_until(lambda: count_of("s0") == MESSAGES + SPOOLED, 60), product.read_log()
        assert count_of(f"s{SIGNALS - 1}") == MESSAGES + SPOOLED
        # Most of it is what a process of ours is: the modules. All messages at once would take as much again.
        assert peak_memory(process) < 240 * MB
        process.send_signal(signals.SIGTERM)
        assert process.wait(60) == 0, product.read_log()

    def test_goes_on_after_the_broker_was_restarted(self, product: Product, rabbitmq: RabbitMQServer) -> None:
        process = start(product)
        send(0, 1)
        assert wait_until(lambda: count_of("s0") == 1, 30), product.read_log()
        rabbitmq.stop()
        rabbitmq.start()
        send(1, 3)
        assert wait_until(lambda: count_of("s0") == 3, 30), product.read_log()
        assert process.poll() is None

    def test_without_a_broker_it_says_what_is_missing(self, product: Product) -> None:
        done = product.manage("run_history", variables={"AMQP_URL": ""})
        assert done.returncode == 1
        assert "AMQP_URL" in done.stderr
