"""Link sensors with the clients that are told about them."""

from collections.abc import Collection
from dataclasses import replace

from django.db import transaction

from sensors.errors import ClientNotFound
from sensors.models import Client
from sensors.services.changes import SensorChange, write_changes
from sensors.services.locks import LockedSensor, lock_sensors
from sensors.services.sensors import lock_sensor


def link(*, sensor_id: str, client_id: int, actor: str) -> None:
    """Tell this client about this sensor from now on; linking again changes nothing."""
    with transaction.atomic():
        _check_client(client_id)
        write_changes([_linked(lock_sensor(sensor_id), client_id)], actor=actor)


def unlink(*, sensor_id: str, client_id: int, actor: str) -> None:
    """Tell this client about this sensor no longer; what is still pending is cancelled."""
    with transaction.atomic():
        _check_client(client_id)
        held = lock_sensor(sensor_id)
        clients = [pk for pk in held.values.clients if pk != client_id]
        write_changes([SensorChange(sensor_id, replace(held.values, clients=clients), held)], actor=actor)


def link_sensors(*, sensor_ids: Collection[str], client_id: int, actor: str) -> int:
    """Link many sensors with one client; return how many were not linked with it before."""
    with transaction.atomic():
        _check_client(client_id)
        held = lock_sensors(sensor_ids).values()
        return write_changes([_linked(each, client_id) for each in held], actor=actor)


def _check_client(client_id: int) -> None:
    if not 0 < client_id < 2**63 or not Client.objects.filter(pk=client_id).exists():
        raise ClientNotFound


def _linked(held: LockedSensor, client_id: int) -> SensorChange:
    clients = sorted({*held.values.clients, client_id})
    return SensorChange(held.id, replace(held.values, clients=clients), held)
