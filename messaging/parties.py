"""Reads of the parties: whom a key belongs to, which of them match."""

from typing import Any, TypeVar

from django.db.models import Model, QuerySet

from config.common.errors import NotFound
from config.common.sql import load
from messaging.errors import DatabaseNotFound, DeviceNotFound, EnterpriseNotFound, SubsystemNotFound
from messaging.models import Device, Enterprise, ExchangeDatabase, Subsystem
from messaging.services.party_rules import is_party_id

M = TypeVar("M", bound=Model)


def find_device(subject: str) -> Device | None:
    """Find whom a key of a device belongs to: with its subsystem, to be read and never saved.

    Its `active` is as good as its enterprise's: nobody of an inactive one is let in.
    """
    # Every call of a device comes through here: to word the query anew each time would cost four times as much.
    device = next(iter(Device.objects.raw(load("messaging", "find_device"), [subject])), None)
    if device is not None:
        found: Any = device
        name, made_at, owner = found.subsystem_name, found.subsystem_created_at, found.enterprise_id
        device.subsystem = Subsystem(id=device.subsystem_id, name=name, created_at=made_at, enterprise_id=owner)
    return device


def find_database(subject: str) -> ExchangeDatabase | None:
    """Find whom a key of a database belongs to, as `find_device` does."""
    return next(iter(ExchangeDatabase.objects.raw(load("messaging", "find_database"), [subject])), None)


def get_enterprise(party_id: str) -> Enterprise:
    return _get(Enterprise.objects.all(), party_id, EnterpriseNotFound)


def get_subsystem(party_id: str) -> Subsystem:
    return _get(Subsystem.objects.all(), party_id, SubsystemNotFound)


def get_device(party_id: str) -> Device:
    return _get(matching_devices(), party_id, DeviceNotFound)


def get_database(party_id: str) -> ExchangeDatabase:
    return _get(ExchangeDatabase.objects.all(), party_id, DatabaseNotFound)


def matching_subsystems(*, enterprise: str = "") -> QuerySet[Subsystem]:
    return Subsystem.objects.filter(enterprise=enterprise) if enterprise else Subsystem.objects.all()


def matching_devices(*, enterprise: str = "", subsystem: str = "") -> QuerySet[Device]:
    devices = Device.objects.select_related("subsystem")
    if enterprise:
        devices = devices.filter(subsystem__enterprise=enterprise)
    return devices.filter(subsystem=subsystem) if subsystem else devices


def matching_databases(*, enterprise: str = "") -> QuerySet[ExchangeDatabase]:
    return ExchangeDatabase.objects.filter(enterprise=enterprise) if enterprise else ExchangeDatabase.objects.all()


def _get(rows: QuerySet[M], party_id: str, missing: type[NotFound]) -> M:
    row = rows.filter(pk=party_id).first() if is_party_id(party_id) else None
    if row is None:
        raise missing
    return row
