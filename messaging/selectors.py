"""Reads of parties and messages: whom a key belongs to, which parties match, what became of a message."""

from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from django.db.models import Model, QuerySet

from config.common.database.sql import as_utc, fetch_row
from config.common.errors import NotFound
from messaging.errors import (
    DatabaseNotFound,
    DeviceNotFound,
    EnterpriseNotFound,
    MessageNotFound,
    SubsystemNotFound,
)
from messaging.models import Device, Enterprise, ExchangeDatabase, Message, Subsystem
from messaging.models.parties import is_party_id

M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Receipt:
    """The outcome of a message, for its sender."""

    status: str
    error_text: str
    error_code: int | str | None
    replies: list[str]
    updated_at: datetime
    correlation_id: str


def find_device(subject: str) -> Device | None:
    """Return the device that a key belongs to, with its subsystem: to be read, never saved.

    It is inactive where its enterprise is: then none of its keys are accepted.
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
    """Return the database that a key belongs to, as `find_device` does."""
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


def get_receipt(*, enterprise_id: str, public_id: str, device_id: str = "", database_id: str = "") -> Receipt:
    """Return the receipt of a message that this device or database sent."""
    sent = Message.objects.filter(enterprise=enterprise_id, public_id=public_id)
    if device_id:
        sent = sent.filter(direction=Message.Direction.REQUEST, device=device_id)
    else:
        sent = sent.filter(direction=Message.Direction.REPLY, database=database_id)
    message = sent.first()
    if message is None:
        raise MessageNotFound
    replies = Message.objects.filter(enterprise=message.enterprise_id, reply_to=message.public_id)
    # A reply that is in doubt, or not committed yet, may never reach the device.
    known = replies.filter(status__in=[Message.Status.WAITING, Message.Status.PROCESSED])
    return Receipt(
        status=message.status,
        error_text=message.error_text,
        error_code=parse_error_code(message.error_code),
        replies=list(known.order_by("created_at", "id").values_list("public_id", flat=True)),
        updated_at=message.updated_at,
        correlation_id=message.correlation_id,
    )


def get_message(*, enterprise_id: str, public_id: str) -> Message:
    """Return a message of an enterprise, within which its id is unique."""
    message = Message.objects.filter(enterprise=enterprise_id, public_id=public_id).first()
    if message is None:
        raise MessageNotFound
    return message


def parse_error_code(text: str) -> int | str | None:
    """Return an error code as the contract has it: a number of the ERP's, or a word of Postern's."""
    if not text:
        return None
    return int(text) if text.lstrip("-").isdigit() else text


def _get(rows: QuerySet[M], party_id: str, missing: type[NotFound]) -> M:
    row = rows.filter(pk=party_id).first() if is_party_id(party_id) else None
    if row is None:
        raise missing
    return row
