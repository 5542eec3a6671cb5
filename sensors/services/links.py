"""Link sensors with the clients that are notified about them."""

from collections.abc import Collection
from dataclasses import replace

from django.db import transaction

from sensors.errors import ClientNotFound
from sensors.models import Client
from sensors.services.changes import SensorChange, write_changes
from sensors.services.locks import LockedSensor, lock_sensors
from sensors.services.sensors import lock_sensor


def link(*, sensor_id: str, client_id: int, actor: str) -> None:
    """Notify a client about a sensor from now on; linking again changes nothing."""
    with transaction.atomic():
        _check_client(client_id)
        write_changes([_add_client(lock_sensor(sensor_id), client_id)], actor=actor)


def unlink(*, sensor_id: str, client_id: int, actor: str) -> None:
    """Notify a client about a sensor no longer; its pending deliveries are cancelled."""
    with transaction.atomic():
        _check_client(client_id)
        locked = lock_sensor(sensor_id)
        clients = [pk for pk in locked.values.clients if pk != client_id]
        write_changes([SensorChange(sensor_id, replace(locked.values, clients=clients), locked)], actor=actor)


def link_sensors(*, sensor_ids: Collection[str], client_id: int, actor: str) -> int:
    """Link many sensors with one client; return how many were not linked with it before."""
    with transaction.atomic():
        _check_client(client_id)
        locked = lock_sensors(sensor_ids).values()
        return write_changes([_add_client(each, client_id) for each in locked], actor=actor)


def _check_client(client_id: int) -> None:
    if not 0 < client_id < 2**63 or not Client.objects.filter(pk=client_id).exists():
        raise ClientNotFound


def _add_client(locked: LockedSensor, client_id: int) -> SensorChange:
    clients = sorted({*locked.values.clients, client_id})
    return SensorChange(locked.id, replace(locked.values, clients=clients), locked)
