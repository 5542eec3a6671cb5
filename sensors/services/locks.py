"""Lock sensors against the ingest and each other: the lock is that of the state row, taken in order of id."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Case, F, When
from django.db.models.functions import Coalesce

from config.common.database.sql import in_array, in_number_array
from config.common.text import is_storable
from sensors.models import Client, Sensor, SensorState
from sensors.selectors import clients_of
from sensors.services.rules import LONGEST_NAME
from sensors.services.values import SensorValues


@dataclass(frozen=True)
class LockedSensor:
    """A sensor as it is for as long as the transaction has the lock of its state row."""

    id: str
    values: SensorValues
    seen_at: datetime | None
    heard_at: datetime | None
    """When it was seen last, in steady time."""
    lost_at: datetime | None
    open_since: datetime | None = None
    """Since when the door is open; None where it is closed, or nothing is known of it."""


def lock_sensors(sensor_ids: Collection[str]) -> dict[str, LockedSensor]:
    """Lock and read those of the sensors that exist, by id."""
    states = SensorState.objects.select_for_update(no_key=True).filter(pk__in=in_array(sensor_ids)).order_by("pk")
    opened = Case(When(value=1, then=F("changed_at")))
    columns = states.values_list("sensor_id", "seen_at", Coalesce("heard_at", "seen_at"), "lost_at", opened)
    times = {pk: times for pk, *times in columns}
    # After the lock, not joined to it: a statement that waited for the lock would see these rows as they were before.
    values = read_sensor_values(list(times))
    return {pk: LockedSensor(pk, values[pk], *times[pk]) for pk in times}


def read_sensor_values(sensor_ids: Collection[str]) -> dict[str, SensorValues]:
    """Return the values of sensors as the registry has them, without a lock."""
    links = clients_of(sensor_ids)
    columns = ("id", "address", "notes", "active", "heartbeat_timeout", "open_limit", "muted_until")
    rows = Sensor.objects.filter(pk__in=in_array(sensor_ids)).values_list(*columns)
    return {
        pk: SensorValues(address, notes, active, timeout, open_limit, muted_until, links.get(pk, []))
        for pk, address, notes, active, timeout, open_limit, muted_until in rows
    }


def find_missing_clients(client_ids: Collection[int]) -> set[int]:
    """Return those of the ids that no client has."""
    possible = {pk for pk in client_ids if 0 < pk < 2**63}
    return set(client_ids) - set(Client.objects.filter(pk__in=in_number_array(possible)).values_list("pk", flat=True))


def find_clients_named(names: Collection[str]) -> dict[str, list[int]]:
    """Return the ids of the clients with these names."""
    found: dict[str, list[int]] = {}
    # Longer ones, and those that no engine could store, are nobody's names.
    possible = [name for name in names if len(name) <= LONGEST_NAME and is_storable(name)]
    if not possible:
        return found
    for name, pk in Client.objects.filter(name__in=in_array(possible)).order_by().values_list("name", "pk"):
        found.setdefault(name, []).append(pk)
    return found
