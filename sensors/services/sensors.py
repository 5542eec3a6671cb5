"""Register, change, deactivate and reactivate sensors."""

from collections.abc import Collection
from dataclasses import fields, replace
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
    """Register a sensor that nobody has heard of yet."""
    wanted = _tidy(SensorValues(**values))
    _check(wanted, id_faults(sensor_id))
    try:
        with transaction.atomic():
            write_changes([SensorChange(sensor_id, wanted)], actor=actor)
    except IntegrityError as error:
        raise SensorExists(id=sensor_id) from error


def update_sensor(*, sensor_id: str, actor: str, **edits: Unpack[SensorEdits]) -> None:
    """Change what is named; what is as it was leaves no trace."""
    with transaction.atomic():
        held = lock_sensor(sensor_id)
        wanted = _tidy(replace(held.values, **edits))
        _check(wanted, {}, linked=held.values.clients)
        write_changes([SensorChange(sensor_id, wanted, held)], actor=actor)


def deactivate_sensor(*, sensor_id: str, actor: str) -> None:
    """Take a sensor out of service: its signals are refused, its clients hear no more of it, its history stays."""
    update_sensor(sensor_id=sensor_id, actor=actor, active=False)


def reactivate_sensor(*, sensor_id: str, actor: str) -> None:
    update_sensor(sensor_id=sensor_id, actor=actor, active=True)


def set_sensors_active(*, sensor_ids: Collection[str], active: bool, actor: str) -> int:
    """Activate or deactivate many; return how many were not so already."""
    with transaction.atomic():
        held = lock_sensors(sensor_ids).values()
        changes = [SensorChange(each.id, replace(each.values, active=active), each) for each in held]
        return write_changes(changes, actor=actor)


def lock_sensor(sensor_id: str) -> LockedSensor:
    held = lock_sensors([sensor_id]).get(sensor_id)
    if held is None:
        raise SensorNotFound
    return held


def _tidy(values: SensorValues) -> SensorValues:
    return replace(
        values,
        address=values.address.strip(),
        notes=values.notes.strip(),
        muted_until=values.muted_until and truncate_to_milliseconds(values.muted_until),
        clients=sorted(set(values.clients)),
    )


def _check(values: SensorValues, faults: dict[str, list[str]], *, linked: Collection[int] = ()) -> None:
    new = set(values.clients) - set(linked)
    faults = faults | sensor_faults(values) | missing_clients_fault(find_missing_clients(new) if new else set())
    if faults:
        raise Invalid(faults)


def _find(sensor_id: str) -> SensorValues | None:
    held = lock_sensors([sensor_id]).get(sensor_id)
    return None if held is None else held.values


def _restore(sensor_id: str, values: Values | None, actor: str) -> None:
    """Put values back; a registration is taken back as DELETE would: by deactivation."""
    held = lock_sensors([sensor_id]).get(sensor_id)
    if held is None:
        raise NotRevertible
    wanted = replace(held.values, active=False) if values is None else _read(values)
    _check(wanted, {}, linked=held.values.clients)
    if not write_changes([SensorChange(sensor_id, wanted, held)], actor=actor):
        raise NotRevertible


def _read(values: Values) -> SensorValues:
    """Make values of what the log keeps."""
    muted_until = values["muted_until"]
    known = {name: values[name] for name in FIELDS}
    return SensorValues(**known | {"muted_until": muted_until and parse_time(muted_until)})


track(Tracked(kind=KIND, fields=FIELDS, find=_find, restore=_restore))
