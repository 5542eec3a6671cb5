"""Deliveries: webhooks a second claimed, sent and recorded, against bare posts; what a claim costs behind an open
breaker; and what one client in ten that hangs costs the others.

The receiver is a process of its own. Messages are owed before the clock starts; it stops when the last of them is
recorded as delivered.
"""

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_network

import aiohttp
from django.db import connection
from django.test import override_settings

from bench.figure import ROUNDS, Figure, compare, report, seconds
from config.common.encryption import encrypt
from notifications.models import Delivery, Endpoint
from notifications.sending.claims import Claimer
from notifications.sending.sender import Sender
from notifications.services.deliveries import NewDelivery, enqueue_deliveries

CLIENTS, MESSAGES, AT_ONCE = 200, 6000, 100
BEHIND = 1_000_000
BODY = {"version": 1, "type": "sensor.state_changed", "sensor_id": "0xA", "address": "1 Gate Street", "data": 1}


def figures() -> list[Figure]:
    with override_settings(WEBHOOK_ALLOWED_NETWORKS=[ip_network("127.0.0.1")]), _receiver() as port:
        healthy = _make_endpoints(CLIENTS, f"http://127.0.0.1:{port}/")
        hanging = _make_endpoints(CLIENTS // 10, f"http://127.0.0.1:{port}/hang")
        return [
            compare(
                "deliveries",
                "webhooks/s",
                ours=lambda: _deliver(healthy),
                yardstick=lambda: asyncio.run(_post_bare(port)),
                must=0.35,
                aims=0.6,
            ),
            compare(
                "slow clients",
                "webhooks/s",
                ours=lambda: _deliver(healthy, hanging),
                yardstick=lambda: _deliver(healthy),
                must=0.9,
                aims=0.98,
            ),
            _claim_growth(),
        ]


def _make_endpoints(count: int, url: str) -> list[int]:
    secret = encrypt(b"whsec_" + b"A" * 43 + b"=")
    rows = Endpoint.objects.bulk_create(Endpoint(url=url, secret=secret) for _ in range(count))
    return [row.pk for row in rows]


def _deliver(healthy: list[int], hanging: list[int] | None = None) -> float:
    Delivery.objects.all().delete()
    Endpoint.objects.update(failures=0, opened_at=None, probe_at=None)
    for endpoints, count in ((healthy, MESSAGES), (hanging or [], MESSAGES // 10)):
        _owe(endpoints, count)
    sender = Sender(slots=AT_ONCE)
    began = time.perf_counter()
    sender.wake()
    while Delivery.objects.filter(status="pending", endpoint_id__lte=healthy[-1]).exists():
        time.sleep(0.02)
    took = time.perf_counter() - began
    sender.stop(grace=15)
    return MESSAGES / took


def _owe(endpoints: list[int], count: int) -> None:
    if endpoints:
        enqueue_deliveries(
            [
                NewDelivery(
                    endpoints[n % len(endpoints)], "sensor.state_changed", Delivery.Family.STATE, f"thing/{n}", BODY
                )
                for n in range(count)
            ]
        )


async def _post_bare(port: int) -> float:
    """Post the same bodies with nothing around it."""
    left, body = iter(range(MESSAGES)), json.dumps(BODY).encode()

    async def post_on(session: aiohttp.ClientSession) -> None:
        for _ in left:
            async with session.post(f"http://127.0.0.1:{port}/", data=body) as answer:
                await answer.read()

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        began = time.perf_counter()
        await asyncio.gather(*(post_on(session) for _ in range(AT_ONCE)))
        return MESSAGES / (time.perf_counter() - began)


def _claim_growth() -> Figure:
    """Claim one row with and without a million rows that are due behind an open breaker."""
    Delivery.objects.all().delete()
    Endpoint.objects.update(active=False)
    dark, lit = _make_endpoints(2, "http://127.0.0.1:9/")
    Endpoint.objects.filter(pk=dark).update(opened_at="2026-01-01T00:00Z", probe_at="2100-01-01T00:00Z", failures=9)
    without = statistics.median(_claim_one(lit, number) for number in range(20 * ROUNDS))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO notifications_delivery (endpoint_id, type, family, subject, body, status, reason, attempts, "
            "is_retry, is_forced, is_final, due_at, fence, correlation_id) "
            "SELECT %s, 't', 'state', 'thing/' || n, '{}', 'pending', '', 0, n %% 2 = 0, false, false, "
            "now() - interval '1 hour', 0, '' FROM generate_series(1, %s) n",
            [dark, BEHIND],
        )
        cursor.execute("VACUUM ANALYZE notifications_delivery")
    behind = statistics.median(_claim_one(lit, number) for number in range(20 * ROUNDS))
    return report("claim growth", "ms/claim", behind * 1e3, without * 1e3, must=1.5, aims=1.1)


def _claim_one(endpoint: int, number: int) -> float:
    _owe([endpoint], 1)
    claimer = Claimer()
    took = seconds(lambda: claimer.claim(10))
    Delivery.objects.filter(endpoint=endpoint).delete()
    return took


@contextmanager
def _receiver() -> Iterator[int]:
    process = subprocess.Popen([sys.executable, "-m", "bench.receiver"], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(10)
