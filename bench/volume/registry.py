"""Clients, sensors with their states and links, what was refused, what was changed, keys, the log."""

from dataclasses import asdict

from django.utils import timezone

from bench.volume.sizes import Sizes
from bench.volume.spread import spread
from config.common.encryption import encrypt
from config.records.models import AccessKey, ChangeRecord, LogEntry
from notifications.models import Endpoint
from sensors.models import Client, RejectedSignal, Sensor, SensorClient, SensorState
from sensors.services.values import SensorValues


def fill_clients(sizes: Sizes) -> None:
    """One client in fifty does not answer."""
    spread(
        Endpoint(secret=encrypt(b"secret"), old_secret=None),
        sizes.clients,
        id="n",
        url="'https://client' || n || '.example/hook'",
        failures="CASE WHEN mod(n, 50) = 0 THEN 7 ELSE 0 END",
        opened_at="CASE WHEN mod(n, 50) = 0 THEN now() - interval '1 hour' END",
        probe_at="CASE WHEN mod(n, 50) = 0 THEN now() + interval '1 hour' END",
    )
    spread(Client(), sizes.clients, id="n", endpoint_id="n", name="'Client ' || n")


def fill_sensors(sizes: Sizes) -> None:
    """One sensor in a hundred is lost, one was never seen, one is not active."""
    spread(
        Sensor(),
        sizes.sensors,
        id="'s' || n",
        address="'Street ' || mod(n, 997) || ', house ' || n",
        active="mod(n, 100) <> 3",
    )
    is_seen = "mod(n, 100) <> 2"
    spread(
        SensorState(),
        sizes.sensors,
        sensor_id="'s' || n",
        value=f"CASE WHEN {is_seen} THEN mod(n, 2) END",
        changed_at=f"CASE WHEN {is_seen} THEN now() - n * interval '1 second' END",
        last_at=f"CASE WHEN {is_seen} THEN now() - interval '1 minute' END",
        seen_at=f"CASE WHEN {is_seen} THEN now() - interval '1 minute' END",
        heard_at=f"CASE WHEN {is_seen} THEN now() - interval '1 minute' END",
        lost_at="CASE WHEN mod(n, 100) = 1 THEN now() - interval '1 minute' END",
        check_at="now() + interval '1 day'",
    )
    spread(
        SensorClient(),
        sizes.sensors,
        sensor_id="'s' || n",
        # One in a hundred belongs to the first client, so that the page of a large one is measured too.
        client_id=f"CASE WHEN mod(n, 100) = 1 THEN 1 ELSE mod(n, {sizes.clients}) + 1 END",
    )


def fill_rejected(sizes: Sizes) -> None:
    spread(
        RejectedSignal(code="unknown_sensor", message="no such sensor", raw='{"sensor_id": "nobody", "data": 1}'),
        sizes.few,
        sensor_id="'unknown' || n",
        recorded_at="date_trunc('minute', now() - mod(n, 7) * interval '23 hours')",
    )


def fill_records(sizes: Sizes) -> None:
    now = timezone.now()
    values = asdict(SensorValues(address="Street 1, house 1"))
    spread(
        ChangeRecord(
            actor="staff:olga",
            action="changed",
            kind="sensor",
            before=values | {"notes": "a"},
            after=values | {"notes": "b"},
        ),
        sizes.records,
        object_id=f"'s' || mod(n, {sizes.sensors}) + 1",
        at="now() - n * interval '1 second'",
        correlation_id="'correlation-' || n",
    )
    spread(
        LogEntry(level="info", kind="refused", template="A call was refused.", text="A call was refused.", data={}),
        sizes.log,
        at="now() - n * interval '1 second'",
        subject="'call/GET ' || mod(n, 100)",
    )
    spread(
        AccessKey(kind="service", scopes=["registry:read"], digest=b"\0" * 32, expires_at=None, created_at=now),
        sizes.few,
        name="'Service ' || n",
        prefix="'bench' || n",
    )
