"""Lists: rows a second of `GET /sensors/`, through the whole view, against a plain ModelSerializer of the same rows."""

from functools import partial
from typing import Any

from django.test import Client as Browser
from rest_framework import generics, serializers
from rest_framework.permissions import AllowAny
from rest_framework.test import APIRequestFactory

from bench.figure import Figure, compare, seconds
from bench.fleet import make_sensors
from config.records.services.keys import create_key
from sensors.models import Sensor

ROWS = 1000
CALLS = 20


class _PlainSerializer(serializers.ModelSerializer[Sensor]):
    state = serializers.IntegerField(source="state.value")
    state_changed_at = serializers.DateTimeField(source="state.changed_at")
    last_seen_at = serializers.DateTimeField(source="state.seen_at")
    lost_at = serializers.DateTimeField(source="state.lost_at")

    class Meta:
        model = Sensor
        fields = [
            *("id", "address", "notes", "active", "heartbeat_timeout", "muted_until", "clients"),
            *("state", "state_changed_at", "last_seen_at", "lost_at"),
        ]


class _PlainList(generics.ListAPIView[Sensor]):
    queryset = Sensor.objects.select_related("state").prefetch_related("clients").order_by("id")[:ROWS]
    serializer_class = _PlainSerializer
    permission_classes = [AllowAny]
    authentication_classes = []


def figures() -> list[Figure]:
    make_sensors(5000, with_clients=True)
    key = create_key(name="bench", actor="bench", scopes=["registry:read"])[1]
    browser = Browser(headers={"Authorization": f"Bearer {key}"}, SERVER_NAME="127.0.0.1")
    call = APIRequestFactory().get("/", SERVER_NAME="127.0.0.1")
    return [
        compare(
            "lists",
            "rows/s",
            ours=partial(_rate, lambda: browser.get(f"/api/v1/sensors/?limit={ROWS}").content),
            yardstick=partial(_rate, lambda: _PlainList.as_view()(call).render().content),
            must=3,
            aims=8,
        )
    ]


def _rate(read: Any) -> float:
    assert len(read()) > 100 * ROWS
    return ROWS * CALLS / seconds(lambda: [read() for _ in range(CALLS)])
