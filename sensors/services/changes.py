"""Write changes of sensors, one or a hundred thousand, in a few statements: rows, links, deadlines, log, events.

Runs inside a service's transaction, while the state rows are locked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from config.audit.changes import snapshot
from config.common.database.sql import bulk_execute, forget_cached_plans, in_array, in_number_array
from notifications.services.registry_changes import RegistryChange, record_registry_changes
from sensors.heartbeat.clock import clock
from sensors.heartbeat.withheld_losses import recheck_withheld_losses
from sensors.models import Client, SensorClient
from sensors.services.cancellation import cancel_link_deliveries, cancel_sensor_deliveries
from sensors.services.locks import LockedSensor
from sensors.services.open_doors import OpenState, recheck_doors
from sensors.services.values import SensorValues

KIND = "sensor"
COLUMNS = ("address", "notes", "active", "heartbeat_timeout", "open_limit", "muted_until")
BATCH = 5000
MANY = 500
"""So many rows at once may make a small table a large one, which statements planned before do not know."""


@dataclass(frozen=True)
class SensorChange:
    id: str
    after: SensorValues
    locked: LockedSensor | None = None
    """The sensor before the change; None for a new one."""

    @property
    def before(self) -> SensorValues | None:
        return None if self.locked is None else self.locked.values

    @property
    def is_deactivation(self) -> bool:
        return self.before is not None and self.before.active and not self.after.active


def write_changes(
    changes: Sequence[SensorChange], *, actor: str, progress: Callable[[int, int], None] = lambda done, total: None
) -> int:
    """Write and record the changes that change anything; return how many those are."""
    # In order of id, so that two who register the same sensors never wait for each other in a circle.
    real = sorted((change for change in changes if change.before != change.after), key=lambda change: change.id)
    now = timezone.now()
    for start in range(0, len(real), BATCH):
        _write(real[start : start + BATCH], actor=actor, now=now)
        progress(min(start + BATCH, len(real)), len(real))
    if len(real) >= MANY:
        forget_cached_plans()
    return len(real)


def _write(changes: Sequence[SensorChange], *, actor: str, now: datetime) -> None:
    new = [change for change in changes if change.before is None]
    bulk_execute("sensors", "insert_sensors", [(change.id, *_row(change.after)) for change in new])
    bulk_execute("sensors", "insert_states", [(change.id,) for change in new])
    # A change of the links alone leaves the row of the sensor as it is.
    known = [change for change in changes if change.before is not None and _row(change.before) != _row(change.after)]
    bulk_execute("sensors", "update_sensors", [(*_row(change.after), change.id) for change in known])
    _write_links(changes, now)
    _set_deadlines(changes)
    _recheck_mutes(changes)
    _recheck_doors(changes)
    cancel_sensor_deliveries([change.id for change in changes if change.is_deactivation])
    records = [
        RegistryChange(
            KIND,
            change.id,
            before=None if change.before is None else snapshot(KIND, change.before),
            after=snapshot(KIND, change.after),
        )
        for change in changes
    ]
    record_registry_changes(records, actor=actor, now=now)


def _row(values: SensorValues) -> list[Any]:
    return [getattr(values, name) for name in COLUMNS]


def _write_links(changes: Sequence[SensorChange], now: datetime) -> None:
    new, gone = list[tuple[str, int, bool]](), list[tuple[str, int]]()
    for change in changes:
        before = set(change.before.clients) if change.before else set()
        after = set(change.after.clients)
        # A client linked while the sensor is lost was not notified of the loss: it needs no news of its end.
        is_lost = change.locked is not None and change.locked.lost_at is not None
        new += ((change.id, client_id, is_lost) for client_id in sorted(after - before))
        gone += ((change.id, client_id) for client_id in before - after)
    bulk_execute("sensors", "insert_links", new)
    if gone:
        _unlink(gone)
    records = [(now, *pair, True) for *pair, _ in new] + [(now, *pair, False) for pair in gone]
    bulk_execute("sensors", "insert_link_records", records)


def _unlink(links: Sequence[tuple[str, int]]) -> None:
    bulk_execute("sensors", "delete_links", links)
    clients = Client.objects.filter(pk__in=in_number_array({pk for _, pk in links}))
    endpoints = dict(clients.values_list("pk", "endpoint_id"))
    cancel_link_deliveries([(sensor_id, endpoints[client_id]) for sensor_id, client_id in links])


def _set_deadlines(changes: Sequence[SensorChange]) -> None:
    """Set the deadlines of sensors whose activity or timeout has changed; otherwise only the sweep moves them."""
    now = clock.now()
    rows = [
        (_find_deadline(change.locked, change.after, now), change.id)
        for change in changes
        if change.locked is not None and _heartbeat(change.locked.values) != _heartbeat(change.after)
    ]
    bulk_execute("sensors", "set_deadlines", rows)


def _heartbeat(values: SensorValues) -> tuple[bool, int]:
    return values.active, values.heartbeat_timeout


def _find_deadline(locked: LockedSensor, after: SensorValues, now: datetime) -> datetime | None:
    """Return, in steady time, when a sensor will be lost unless it sends; None where the sweep need not look.

    The timeout of a sensor that is activated again counts from now.
    """
    if not after.active or locked.heard_at is None or locked.lost_at is not None:
        return None
    since = locked.heard_at if locked.values.active else now
    return since + timedelta(seconds=after.heartbeat_timeout)


def _recheck_doors(changes: Sequence[SensorChange]) -> None:
    """Judge the open doors anew whose activity, limit or mute has changed."""
    judged = [
        OpenState(change.id, change.locked.open_since, change.after.open_limit if change.after.active else None)
        for change in changes
        if change.locked is not None
        and change.locked.open_since is not None
        and _door_rules(change.locked.values) != _door_rules(change.after)
    ]
    if judged:
        recheck_doors(judged)


def _door_rules(values: SensorValues) -> tuple[bool, int | None, datetime | None]:
    return values.active, values.open_limit, values.muted_until


def _recheck_mutes(changes: Sequence[SensorChange]) -> None:
    """Have the withheld losses looked at where the mute of a lost sensor has changed."""
    remuted = [
        change.id
        for change in changes
        if change.locked is not None
        and change.locked.lost_at is not None
        and change.locked.values.muted_until != change.after.muted_until
    ]
    if remuted:
        recheck_withheld_losses(SensorClient.objects.filter(sensor__in=in_array(remuted)))
