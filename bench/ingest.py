"""Ingest: signals a second from RabbitMQ into state, last seen, events and history, against a consumer that decodes
nothing and only acknowledges.

The queue is filled first; the clock runs from the start of the consumer until ClickHouse holds every signal, with one
consumer of each kind (`run_history` is a process of its own, as in the product).
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

from pika.adapters.blocking_connection import BlockingChannel
from pika.spec import Basic, BasicProperties
from prometheus_client import REGISTRY

from bench.figure import Figure, compare
from bench.fleet import Feed, make_sensors, purge
from config.common.background.process_control import die_with_parent
from config.engines import clickhouse
from config.engines.amqp import connect
from sensors.ingest.consumer import Consumer
from sensors.ingest.signal_queue import QUEUE

SENSORS = 100_000
SIGNALS = 80_000
HISTORY_BATCH = 20_000


def figures() -> list[Figure]:
    make_sensors(SENSORS, with_clients=True)
    history = _start_history()
    try:
        return [
            _figure("ingest", change_every=100, first=0, must=0.40, aims=0.55),
            _figure("ingest, changing", change_every=2, first=10**9, must=0.10, aims=0.2),
        ]
    finally:
        history.terminate()
        history.wait(20)


def _figure(name: str, *, change_every: int, first: int, must: float, aims: float) -> Figure:
    """Compare on two feeds: what the yardstick throws away must not be missing in ours."""
    ours, theirs = (Feed(SENSORS, change_every=change_every, first=first) for _ in range(2))
    return compare(
        name, "signals/s", ours=partial(_ours, ours), yardstick=partial(_null_consumer, theirs), must=must, aims=aims
    )


def _start_history() -> "subprocess.Popen[bytes]":
    environment = os.environ | {"HISTORY_BATCH": str(HISTORY_BATCH), "HISTORY_SECONDS": "1"}
    bench = os.getpid()
    return subprocess.Popen(
        [sys.executable, "manage.py", "run_history"], env=environment, preexec_fn=lambda: die_with_parent(bench)
    )


def _ours(feed: Feed) -> float:
    purge()
    feed.publish(SIGNALS)
    before = _history_count()
    began = time.perf_counter()
    consume_all()
    wait_for(lambda: _history_count() >= before + SIGNALS)
    return SIGNALS / (time.perf_counter() - began)


def consume_all(count: int = SIGNALS) -> None:
    """Run the consumer until so many signals have been committed and acknowledged."""
    target = _consumed() + count
    Consumer("bench", should_stop=lambda: _consumed() >= target).run()


def _consumed() -> float:
    return REGISTRY.get_sample_value("postern_signals_total", {"outcome": "accepted"}) or 0.0


def _null_consumer(feed: Feed) -> float:
    purge()
    feed.publish(SIGNALS)
    link = connect()
    channel = link.channel()
    channel.basic_qos(prefetch_count=6000)
    received = 0

    def acknowledge(channel: BlockingChannel, method: Basic.Deliver, _: BasicProperties, body: bytes) -> None:
        nonlocal received
        received += 1
        if received % 500 == 0:
            channel.basic_ack(method.delivery_tag, multiple=True)

    channel.basic_consume(QUEUE, acknowledge)
    began = time.perf_counter()
    while received < SIGNALS:
        link.process_data_events(time_limit=0.05)
    took = time.perf_counter() - began
    link.close()
    return SIGNALS / took


def _history_count() -> int:
    """Count what ClickHouse holds; the writer makes the table with its first batch."""
    client = clickhouse.connect()
    try:
        if not client.execute("EXISTS TABLE signals")[0][0]:
            return 0
        return int(client.execute("SELECT count() FROM signals")[0][0])
    finally:
        client.disconnect()


def wait_for(condition: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the line does not move"
        time.sleep(0.02)
