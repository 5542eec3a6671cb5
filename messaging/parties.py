"""Reads of the parties: whom a key belongs to, which of them match."""

from typing import TypeVar

from django.db.models import Model, QuerySet

from config.common.database.sql import as_utc, fetch_row
from config.common.errors import NotFound
from messaging.errors import DatabaseNotFound, DeviceNotFound, EnterpriseNotFound, SubsystemNotFound
from messaging.models import Device, Enterprise, ExchangeDatabase, Subsystem
from messaging.services.party_rules import is_party_id

M = TypeVar("M", bound=Model)


def find_device(subject: str) -> Device | None:
    """Find whom a key of a device belongs to: with its subsystem, to be read and never saved.

    Its `active` is as good as its enterprise's: nobody of an inactive one is let in.
    """
    row = fetch_row("messaging", "find_device", [subject])
    if row is None:
        return None
    pk, name, made_at, active, subsystem_id, subsystem_name, subsystem_made_at, enterprise_id = row
    subsystem = Subsystem(
        id=subsystem_id, name=subsystem_name, created_at=as_utc(subsystem_made_at), enterprise_id=enterprise_id
    )
    return Device(id=pk, name=name, created_at=as_utc(made_at), active=bool(active), subsystem=subsystem)


def find_database(subject: str) -> ExchangeDatabase | None:
    """Find whom a key of a database belongs to, as `find_device` does."""
    row = fetch_row("messaging", "find_database", [subject])
    if row is None:
        return None
    pk, name, made_at, active, owner = row
    return ExchangeDatabase(id=pk, name=name, created_at=as_utc(made_at), active=bool(active), enterprise_id=owner)


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
