"""Lists: rows a second of `GET /sensors/` and of `GET /sensors/{id}/history/`, through the whole view, against a plain
ModelSerializer list of the same rows.

History is read from where the full profile keeps it, ClickHouse, with the events that say which signals were changes;
the plain list reads the same signals from a table of PostgreSQL and is spared the changes.
"""

import time
from functools import partial
from typing import Any

from django.test import Client as Browser
from rest_framework import generics, serializers
from rest_framework.permissions import AllowAny
from rest_framework.test import APIRequestFactory

from bench.figure import Figure, compare, seconds
from bench.fleet import make_sensors
from config.access.keys import create_key
from sensors.events import STATE_CHANGED
from sensors.history.database import DatabaseStore
from sensors.history.store import get_store
from sensors.history.values import PastEvent
from sensors.ingest.signals import Signal
from sensors.models import Sensor, StoredSignal

ROWS = 1000
CALLS = 20
SENSORS, SIGNALS = 5000, 5000
CHANGE_EVERY = 100


class _PlainSerializer(serializers.ModelSerializer[Sensor]):
    state = serializers.IntegerField(source="state.value")
    state_changed_at = serializers.DateTimeField(source="state.changed_at")
    last_seen_at = serializers.DateTimeField(source="state.seen_at")
    lost_at = serializers.DateTimeField(source="state.lost_at")

    class Meta:
        model = Sensor
        fields = [
            *("id", "address", "notes", "active", "heartbeat_timeout", "open_limit", "muted_until", "clients"),
            *("state", "state_changed_at", "last_seen_at", "lost_at"),
        ]


class _PlainList(generics.ListAPIView[Sensor]):
    queryset = Sensor.objects.select_related("state").prefetch_related("clients").order_by("id")[:ROWS]
    serializer_class = _PlainSerializer
    permission_classes = [AllowAny]
    authentication_classes = []


class _PlainSignalSerializer(serializers.ModelSerializer[StoredSignal]):
    id = serializers.CharField(source="signal_id")

    class Meta:
        model = StoredSignal
        fields = ["sensor_id", "at", "data", "id", "received_at"]


class _PlainHistory(generics.ListAPIView[StoredSignal]):
    queryset = StoredSignal.objects.filter(sensor_id="s0").order_by("-at", "-signal_id")[:ROWS]
    serializer_class = _PlainSignalSerializer
    permission_classes = [AllowAny]
    authentication_classes = []


def figures() -> list[Figure]:
    make_sensors(SENSORS, with_clients=True)
    _make_history()
    key = create_key(name="bench", actor="bench", scopes=["registry:read", "history:read"])[1]
    browser = Browser(headers={"Authorization": f"Bearer {key}"}, SERVER_NAME="127.0.0.1")
    return [
        _figure("lists", browser, f"/api/v1/sensors/?limit={ROWS}", _PlainList),
        _figure("lists, history", browser, f"/api/v1/sensors/s0/history/?limit={ROWS}", _PlainHistory),
    ]


def _figure(name: str, browser: Browser, address: str, plain: type[generics.ListAPIView[Any]]) -> Figure:
    call = APIRequestFactory().get("/", SERVER_NAME="127.0.0.1")
    return compare(
        name,
        "rows/s",
        ours=partial(_rate, lambda: browser.get(address).content),
        yardstick=partial(_rate, lambda: plain.as_view()(call).render().content),
        must=3,
        aims=8,
    )


def _make_history() -> None:
    """Let one sensor have sent a signal every ten seconds, one in a hundred of them a change."""
    first = int(time.time() * 1000) - SIGNALS * 10_000
    signals = [
        Signal("s0", first + n * 10_000, f"{n:012}", n // CHANGE_EVERY % 2, first + n * 10_000 + 40)
        for n in range(SIGNALS)
    ]
    changes = [
        PastEvent(n, STATE_CHANGED, "s0", signal.at, signal.received_at, "", {"signal_id": signal.id})
        for n, signal in enumerate(signals[::CHANGE_EVERY], start=1)
    ]
    for store in (get_store(), DatabaseStore()):
        store.prepare()
        store.add_signals(signals)
    get_store().add_events(changes)


def _rate(read: Any) -> float:
    assert len(read()) > 100 * ROWS
    return ROWS * CALLS / seconds(lambda: [read() for _ in range(CALLS)])
