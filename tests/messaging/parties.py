"""Enterprises, subsystems, devices and databases for the tests, and those who call with their keys."""

from typing import Any

from config.access.keys import create_key
from messaging.models import Device, Enterprise, ExchangeDatabase, Subsystem
from tests.sensors.api.callers import Caller


def make_enterprise(id: str = "acme", **fields: Any) -> Enterprise:
    """Return the enterprise of this id, made where there is none yet."""
    return Enterprise.objects.get_or_create(id=id, defaults={"name": id.title(), **fields})[0]


def make_subsystem(id: str = "stock", enterprise: str = "acme", **fields: Any) -> Subsystem:
    owner = make_enterprise(enterprise)
    return Subsystem.objects.get_or_create(id=id, defaults={"enterprise": owner, "name": id.title(), **fields})[0]


def make_device(id: str = "phone", subsystem: str = "stock", enterprise: str = "acme", **fields: Any) -> Device:
    place = make_subsystem(subsystem, enterprise)
    return Device.objects.create(id=id, subsystem=place, name=fields.pop("name", id.title()), **fields)


def make_database(id: str = "erp", enterprise: str = "acme", **fields: Any) -> ExchangeDatabase:
    owner = make_enterprise(enterprise)
    return ExchangeDatabase.objects.create(id=id, enterprise=owner, name=fields.pop("name", id.title()), **fields)


def key_of(party: Device | ExchangeDatabase) -> str:
    """Make a key of a device or database and return its text."""
    kind = "device" if isinstance(party, Device) else "database"
    return create_key(name=f"{kind} {party.pk}", kind=kind, subject=party.pk, actor="test")[1]


def caller_of(party: Device | ExchangeDatabase) -> Caller:
    return Caller(key_of(party))
