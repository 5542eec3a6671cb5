"""Write changes of sensors, one or a hundred thousand, in a few statements: rows, links, deadlines, log, events.

Runs inside a service's transaction, while the state rows are held.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from config.audit.changes import snapshot
from config.common.database.sql import bulk_execute, in_array, in_number_array
from notifications.services.registry_changes import RegistryChange, record_registry_changes
from sensors.heartbeat.clock import clock
from sensors.heartbeat.withheld_losses import recheck_withheld_losses
from sensors.models import Client, SensorClient
from sensors.services.cancellation import cancel_link_deliveries, cancel_sensor_deliveries
from sensors.services.locks import LockedSensor
from sensors.services.values import SensorValues

KIND = "sensor"
COLUMNS = ("address", "notes", "active", "heartbeat_timeout", "muted_until")
BATCH = 5000


@dataclass(frozen=True)
class SensorChange:
    id: str
    after: SensorValues
    held: LockedSensor | None = None
    """What it was; nothing for a new sensor."""

    @property
    def before(self) -> SensorValues | None:
        return None if self.held is None else self.held.values

    @property
    def is_deactivation(self) -> bool:
        return self.before is not None and self.before.active and not self.after.active


def write_changes(
    wanted: Sequence[SensorChange], *, actor: str, progress: Callable[[int, int], None] = lambda done, total: None
) -> int:
    """Write what differs, tell it, and return how many sensors that were; equal values leave no trace."""
    # In order of id, so that two who register the same sensors never wait for each other in a circle.
    changes = sorted((change for change in wanted if change.before != change.after), key=lambda change: change.id)
    now = timezone.now()
    for start in range(0, len(changes), BATCH):
        _write(changes[start : start + BATCH], actor=actor, now=now)
        progress(min(start + BATCH, len(changes)), len(changes))
    return len(changes)


def _write(changes: Sequence[SensorChange], *, actor: str, now: datetime) -> None:
    _insert([change for change in changes if change.before is None])
    _update([change for change in changes if change.before is not None and _row(change.before) != _row(change.after)])
    _link(changes)
    _set_deadlines(changes)
    _end_mutes(changes)
    cancel_sensor_deliveries([change.id for change in changes if change.is_deactivation])
    record_registry_changes([_told(change) for change in changes], actor=actor, now=now)


def _row(values: SensorValues) -> list[Any]:
    return [getattr(values, name) for name in COLUMNS]


def _insert(changes: Sequence[SensorChange]) -> None:
    bulk_execute("sensors", "insert_sensors", [(change.id, *_row(change.after)) for change in changes])
    bulk_execute("sensors", "insert_states", [(change.id,) for change in changes])


def _update(changes: Sequence[SensorChange]) -> None:
    bulk_execute("sensors", "update_sensors", [(*_row(change.after), change.id) for change in changes])


def _link(changes: Sequence[SensorChange]) -> None:
    new, gone = list[tuple[str, int, bool]](), list[tuple[str, int]]()
    for change in changes:
        before = set(change.before.clients) if change.before else set()
        after = set(change.after.clients)
        # Who is linked while the sensor is lost has not been told so, and need not hear that it is back.
        is_lost = change.held is not None and change.held.lost_at is not None
        new += ((change.id, client_id, is_lost) for client_id in sorted(after - before))
        gone += ((change.id, client_id) for client_id in before - after)
    bulk_execute("sensors", "insert_links", new)
    if gone:
        _unlink(gone)


def _unlink(links: Sequence[tuple[str, int]]) -> None:
    bulk_execute("sensors", "delete_links", links)
    endpoints = dict(
        Client.objects.filter(pk__in=in_number_array({pk for _, pk in links})).values_list("pk", "endpoint_id")
    )
    cancel_link_deliveries([(sensor_id, endpoints[client_id]) for sensor_id, client_id in links])


def _set_deadlines(changes: Sequence[SensorChange]) -> None:
    """Say when the sweep must look, where activity or timeout changed: it alone moves the deadlines otherwise."""
    now = clock.now()
    rows = [
        (_deadline(change.held, change.after, now), change.id)
        for change in changes
        if change.held is not None and _beat(change.held.values) != _beat(change.after)
    ]
    bulk_execute("sensors", "set_deadlines", rows)


def _end_mutes(changes: Sequence[SensorChange]) -> None:
    """Let a loss be told that a mute withheld, where the mute was lifted or moved."""
    moved = [
        change.id
        for change in changes
        if change.held is not None
        and change.held.lost_at is not None
        and change.held.values.muted_until != change.after.muted_until
    ]
    if moved:
        recheck_withheld_losses(SensorClient.objects.filter(sensor__in=in_array(moved)))


def _beat(values: SensorValues) -> tuple[bool, int]:
    return values.active, values.heartbeat_timeout


def _deadline(held: LockedSensor, after: SensorValues, now: datetime) -> datetime | None:
    """Return, in steady time, until when silence is fine.

    A sensor that wakes up counts from now, one that sleeps is not looked at.
    """
    if not after.active or held.heard_at is None or held.lost_at is not None:
        return None
    return (held.heard_at if held.values.active else now) + timedelta(seconds=after.heartbeat_timeout)


def _told(change: SensorChange) -> RegistryChange:
    before = None if change.before is None else snapshot(KIND, change.before)
    return RegistryChange(KIND, change.id, before, snapshot(KIND, change.after))
