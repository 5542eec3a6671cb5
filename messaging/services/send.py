"""A device sends a message: accepted once under its id, however often and from however many places it is sent."""

from dataclasses import dataclass
from datetime import datetime
from functools import cache, lru_cache
from typing import Any

import msgspec
from django.conf import settings
from django.db import connection, transaction
from django.utils.translation import gettext

from config.common.background.ring import ring
from config.common.correlation import correlation_id
from config.common.database.sql import load_sql, postgresql_cursor
from config.common.errors import Invalid, TooLarge
from config.common.ids import new_id
from messaging.errors import IdTaken
from messaging.files.drafts import drop_drafts, name_drafts, write_drafts
from messaging.files.envelope import fingerprint, size_of
from messaging.models import Device, ExchangeDatabase, Message
from messaging.protocol import Body, Id, check_payload, megabytes
from messaging.services.values import read_created_at
from messaging.subjects import subject_of
from notifications.services.events import SEQUENCER, NewEvent, encode_events, event_part, record_event

RECEIVED = "message.received"


class NewMessage(Body):
    to: Id
    payload: msgspec.Raw
    id: Id | None = None
    created_at: str | None = None


@dataclass(frozen=True)
class Accepted:
    message: Message
    is_new: bool


class UnknownAddressee(Exception):
    """The enterprise has no such database. Raised, not returned, so that the cache does not keep it."""


def send_message(*, device: Device, body: NewMessage, at: datetime) -> Accepted:
    """Accept a message: write its draft to the disk, commit its row, then give the draft its name."""
    payload = bytes(body.payload)
    digest = fingerprint(body.to, [payload])
    message = _new_row(device, body, digest, payload, at)
    write_drafts([(message, payload)])
    # An error may come after the commit: the draft stays then, and is swept an hour later if it belongs to no row.
    if not insert_message(message):
        drop_drafts([message])
        return _find_repeat(device, body, digest, at=at)
    name_drafts([message])
    return Accepted(message, is_new=True)


@lru_cache(maxsize=10_000)
def check_addressee(database_id: str, enterprise_id: str) -> None:
    """Raise `UnknownAddressee` unless the enterprise has this database, so that no folders are made for any other.

    Cached for good, since databases are never deleted. Whether it is active is checked when the row is written.
    """
    if not ExchangeDatabase.objects.filter(pk=database_id, enterprise=enterprise_id).exists():
        raise UnknownAddressee


def insert_message(message: Message) -> bool:
    """Insert the row and its event, unless the id is taken or the database inactive; return whether it was inserted."""
    if connection.vendor == "postgresql":
        return _insert_postgresql(message)
    with transaction.atomic():
        addressee = ExchangeDatabase.objects.filter(pk=message.database_id, active=True)
        taken = Message.objects.filter(enterprise=message.enterprise_id, public_id=message.public_id)
        if taken.exists() or not addressee.exists():
            return False
        message.save(force_insert=True)
        record_event(NewEvent(RECEIVED, subject_of(message), message.accepted_at, _payload(message)))
        return True


def _find_repeat(device: Device, body: NewMessage, digest: bytes, *, at: datetime) -> Accepted:
    """Return the message accepted earlier under this id, if this is a repeat of it; raise `IdTaken` if it is not."""
    message = Message.objects.filter(enterprise_id=device.subsystem.enterprise_id, public_id=body.id).first()
    if message is None:  # the id is free, so the message was refused for its database
        raise _no_addressee()
    is_same_sender = message.direction == Message.Direction.REQUEST and message.device_id == device.pk
    is_same_time = body.created_at is None or read_created_at(body.created_at, at=at) == message.created_at
    if not is_same_sender or not is_same_time or bytes(message.digest) != digest:
        raise IdTaken
    return Accepted(message, is_new=False)


def _new_row(device: Device, body: NewMessage, digest: bytes, payload: bytes, at: datetime) -> Message:
    enterprise_id = device.subsystem.enterprise_id
    try:
        check_addressee(body.to, enterprise_id)
    except UnknownAddressee as error:
        raise _no_addressee() from error
    message = Message(
        enterprise_id=enterprise_id,
        public_id=body.id or str(new_id()),
        direction=Message.Direction.REQUEST,
        database_id=body.to,
        device_id=device.pk,
        subsystem_id=device.subsystem_id,
        created_at=read_created_at(body.created_at, at=at),
        accepted_at=at,
        correlation_id=correlation_id(),
        digest=digest,
        folder=Message.Folder.MESSAGES,
        status=Message.Status.WAITING,
        arrived_at=at,
        updated_at=at,
    )
    message.size = size_of(message, payload)
    if message.size > megabytes(settings.MESSAGE_MAX_MB):
        raise TooLarge(megabytes(settings.MESSAGE_MAX_MB))
    check_payload(payload)
    return message


def _no_addressee() -> Invalid:
    return Invalid({"to": [gettext("Must be an active database of your enterprise.")]})


def _insert_postgresql(message: Message) -> bool:
    """Insert the row and its event in one statement, hence in one round trip: every message comes through here."""
    values = {
        "id": message.public_id,
        "device": message.device_id,
        "subsystem": message.subsystem_id,
        "created_at": message.created_at,
        "at": message.accepted_at,
        "chain": message.correlation_id,
        "size": message.size,
        "digest": message.digest,
        "token": message.token,
        "database": message.database_id,
        "enterprise": message.enterprise_id,
        "events": encode_events([{"type": RECEIVED, "subject": subject_of(message), "payload": _payload(message)}]),
    }
    with postgresql_cursor(commits=True) as cursor:
        row = cursor.execute(_accept_statement(), values, prepare=True).fetchone()
    if row is None:
        return False
    message.pk = row[0]
    ring(SEQUENCER)
    return True


@cache
def _accept_statement() -> str:
    return load_sql("messaging", "accept_message.postgresql").format(event_part=event_part("message"))


def _payload(message: Message) -> dict[str, Any]:
    return {
        "message": message.public_id,
        "device": message.device_id,
        "database": message.database_id,
        "subsystem": message.subsystem_id,
        "enterprise": message.enterprise_id,
        "bytes": message.size,
    }
