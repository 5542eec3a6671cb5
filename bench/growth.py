"""Growth: what a signal and a sweep cost with a million sensors, against a small fleet on the same server.

The table cannot shrink and grow between two rounds, so the rounds are measured before and after it has grown.
"""

import random
import statistics
import time

from django.db import connection
from django.test import override_settings
from django.utils import timezone

from bench.figure import ROUNDS, Figure, report, seconds
from bench.fleet import make_sensors
from sensors.heartbeat.ingest_liveness import record_liveness
from sensors.heartbeat.sweep import sweep_once
from sensors.ingest.apply import apply_signals
from sensors.ingest.signals import Rejection, Signal

SMALL, MIDDLE, LARGE = 1_000, 10_000, 1_000_000
BATCH = 2000


def figures() -> list[Figure]:
    """Measure the sweep alone: without a broker hearing is this process being up."""
    with override_settings(AMQP_URL=None):
        return _figures()


def _figures() -> list[Figure]:
    record_liveness(timezone.now())
    make_sensors(SMALL)
    _look_tomorrow()
    sweep_small = statistics.median(seconds(sweep_once) for _ in range(20 * ROUNDS))
    make_sensors(MIDDLE - SMALL, first=SMALL)
    ingest_small = statistics.median(_apply_batches(MIDDLE) for _ in range(ROUNDS))
    make_sensors(LARGE - MIDDLE, first=MIDDLE)
    _look_tomorrow()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE sensors_sensorstate")
    _apply_batches(LARGE)
    ingest_large = statistics.median(_apply_batches(LARGE) for _ in range(ROUNDS))
    sweep_large = statistics.median(seconds(sweep_once) for _ in range(20 * ROUNDS))
    return [
        report("ingest growth", "µs/signal", ingest_large * 1e6, ingest_small * 1e6, must=1.6, aims=1.2),
        report("heartbeat growth", "µs/sweep", sweep_large * 1e6, sweep_small * 1e6, must=2, aims=1.2),
    ]


def _apply_batches(sensors: int, batches: int = 10) -> float:
    """Return the seconds that a signal costs, in batches over the whole fleet."""
    chance = random.Random(sensors)
    now = int(time.time() * 1000)
    work: list[list[Signal | Rejection]] = [
        [Signal(f"s{chance.randrange(sensors)}", now, f"{time.monotonic_ns():020}-{n}", 0, now) for n in range(BATCH)]
        for _ in range(batches)
    ]
    return seconds(lambda: [apply_signals(batch) for batch in work]) / (batches * BATCH)


def _look_tomorrow() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE sensors_sensorstate SET check_at = now() + interval '1 day'")
        cursor.execute("ANALYZE sensors_sensorstate")
