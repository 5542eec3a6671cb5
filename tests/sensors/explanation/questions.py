"""Signals, losses and failed deliveries, and the question why a client was not told."""

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from config.common.times import format_time, truncate_to_milliseconds
from notifications.models import Delivery
from sensors.heartbeat.sweep import sweep_once
from sensors.models import Client, SensorState
from tests.notifications.sending.deliveries import answer, claim, make_due
from tests.sensors.api.callers import Caller
from tests.sensors.registry import hear

HOUR = timedelta(hours=1)
SCOPES = ("signals:write", "registry:read", "registry:write", "history:read")


def ago(**span: float) -> datetime:
    return truncate_to_milliseconds(timezone.now() - timedelta(**span))


def soon() -> datetime:
    """Return a time behind whatever was done by now: times of calls have milliseconds."""
    return timezone.now() + timedelta(seconds=1)


def say(desk: Caller, data: int, at: datetime, id: str = "a", sensor: str = "0xA") -> None:
    body = {"sensor_id": sensor, "data": data, "at": format_time(at), "id": id}
    assert desk("POST", "/signals/", body).json()["accepted"] == 1


def ask(caller: Caller, client: Client, at: datetime, sensor: str = "0xA", **more: str) -> Any:
    query = "&".join(f"{name}={value}" for name, value in more.items())
    found = caller("GET", f"/explain/?sensor={sensor}&client={client.pk}&at={format_time(at)}&{query}")
    assert found.status_code == 200, found.content
    return found.json()


def kinds(found: Any) -> list[str]:
    return [row["kind"] for row in found["evidence"]]


def lose(desk: Caller, client: Client) -> datetime:
    """Let the sensor fall silent for longer than its timeout; return the time of the loss."""
    say(desk, 1, ago(hours=2))
    for row in Delivery.objects.filter(status="pending"):
        make_due(row)
    answer(*claim())
    SensorState.objects.update(seen_at=ago(hours=2), heard_at=None, check_at=ago(hours=1))
    hear()
    sweep_once()
    lost_at = SensorState.objects.get().lost_at
    assert lost_at is not None
    return lost_at


def fail(delivery: Delivery, times: int, status: int = 500, **heard: Any) -> None:
    for _ in range(times):
        make_due(delivery)
        answer(*claim(), status=status, **heard)
