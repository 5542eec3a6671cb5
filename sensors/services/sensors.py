"""Register, change, deactivate and reactivate sensors."""

from collections.abc import Collection
from dataclasses import fields, replace
from datetime import datetime
from typing import Unpack

from django.db import IntegrityError, transaction

from config.audit.changes import NotRevertible, Tracked, Values, track
from config.common.errors import Invalid
from config.common.times import parse_time, truncate_to_milliseconds
from sensors.errors import SensorExists, SensorNotFound
from sensors.services.changes import KIND, SensorChange, write_changes
from sensors.services.locks import LockedSensor, find_missing_clients, lock_sensors
from sensors.services.rules import id_faults, missing_clients_fault, sensor_faults
from sensors.services.values import SensorEdits, SensorValues

FIELDS = tuple(field.name for field in fields(SensorValues))


def create_sensor(*, sensor_id: str, actor: str, **values: Unpack[SensorEdits]) -> None:
    """Register a sensor under an id that is free."""
    new = _normalize(SensorValues(**values))
    _check(new, id_faults(sensor_id))
    try:
        with transaction.atomic():
            write_changes([SensorChange(sensor_id, new)], actor=actor)
    except IntegrityError as error:
        raise SensorExists(id=sensor_id) from error


def update_sensor(*, sensor_id: str, actor: str, **edits: Unpack[SensorEdits]) -> None:
    """Change the given values of a sensor; where all of them are equal, nothing is recorded."""
    with transaction.atomic():
        locked = lock_sensor(sensor_id)
        new = _normalize(replace(locked.values, **edits))
        _check(new, {}, linked=locked.values.clients)
        write_changes([SensorChange(sensor_id, new, locked)], actor=actor)


def deactivate_sensor(*, sensor_id: str, actor: str) -> None:
    """Take a sensor out of service: its signals are refused, its clients no longer notified; its history stays."""
    update_sensor(sensor_id=sensor_id, actor=actor, active=False)


def reactivate_sensor(*, sensor_id: str, actor: str) -> None:
    update_sensor(sensor_id=sensor_id, actor=actor, active=True)


def set_sensors_active(*, sensor_ids: Collection[str], active: bool, actor: str) -> int:
    """Activate or deactivate many sensors; return how many have changed."""
    with transaction.atomic():
        locked = lock_sensors(sensor_ids).values()
        changes = [SensorChange(each.id, replace(each.values, active=active), each) for each in locked]
        return write_changes(changes, actor=actor)


def mute_sensors(*, sensor_ids: Collection[str], until: datetime | None, actor: str) -> int:
    """Mute many sensors until a time, or end their mutes; return how many have changed."""
    muted_until = until and truncate_to_milliseconds(until)
    with transaction.atomic():
        locked = lock_sensors(sensor_ids).values()
        changes = [SensorChange(each.id, replace(each.values, muted_until=muted_until), each) for each in locked]
        return write_changes(changes, actor=actor)


def lock_sensor(sensor_id: str) -> LockedSensor:
    locked = lock_sensors([sensor_id]).get(sensor_id)
    if locked is None:
        raise SensorNotFound
    return locked


def _normalize(values: SensorValues) -> SensorValues:
    return replace(
        values,
        address=values.address.strip(),
        notes=values.notes.strip(),
        muted_until=values.muted_until and truncate_to_milliseconds(values.muted_until),
        clients=sorted(set(values.clients)),
    )


def _check(values: SensorValues, faults: dict[str, list[str]], *, linked: Collection[int] = ()) -> None:
    # Those that are linked already exist: clients are never deleted.
    added = set(values.clients) - set(linked)
    faults = faults | sensor_faults(values) | missing_clients_fault(find_missing_clients(added) if added else set())
    if faults:
        raise Invalid(faults)


def _find(sensor_id: str) -> SensorValues | None:
    locked = lock_sensors([sensor_id]).get(sensor_id)
    return None if locked is None else locked.values


def _restore(sensor_id: str, values: Values | None, actor: str) -> None:
    """Restore the values of the change log; a registration is reverted by deactivation, as DELETE would do it."""
    locked = lock_sensors([sensor_id]).get(sensor_id)
    if locked is None:
        raise NotRevertible
    if values is None:
        new = replace(locked.values, active=False)
    else:
        muted_until = values["muted_until"] and parse_time(values["muted_until"])
        new = SensorValues(**{name: values[name] for name in FIELDS} | {"muted_until": muted_until})
    _check(new, {}, linked=locked.values.clients)
    if not write_changes([SensorChange(sensor_id, new, locked)], actor=actor):
        raise NotRevertible


track(Tracked(kind=KIND, fields=FIELDS, find=_find, restore=_restore, page="admin:sensors_sensor_change"))
