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
    """The enterprise has no such database. An exception, so that it is asked for again the next time."""


def send_message(*, device: Device, wanted: NewMessage, at: datetime) -> Accepted:
    """Accept a message: its draft is on the disk, then its row is committed, then the draft gets its name."""
    payload = bytes(wanted.payload)
    digest = fingerprint(wanted.to, [payload])
    message = _new_row(device, wanted, digest, payload, at)
    write_drafts([(message, payload)])
    # After an error the row may have been committed all the same: the draft stays, and is swept if no row knows it.
    if not insert_message(message):
        drop_drafts([message])
        return _find(device, wanted, digest, at=at)
    name_drafts([message])
    return Accepted(message, is_new=True)


@lru_cache(maxsize=10_000)
def check_addressee(database_id: str, enterprise_id: str) -> None:
    """See that the enterprise has such a database: once it has, it has for good, and nobody makes folders otherwise.

    Whether it takes messages at the moment is seen when the row is written.
    """
    if not ExchangeDatabase.objects.filter(pk=database_id, enterprise=enterprise_id).exists():
        raise UnknownAddressee


def insert_message(message: Message) -> bool:
    """Write the row, unless its id is taken or its database takes no messages; return whether it was written."""
    if connection.vendor == "postgresql":
        return _accept_at_once(message)
    with transaction.atomic():
        addressee = ExchangeDatabase.objects.filter(pk=message.database_id, active=True)
        taken = Message.objects.filter(enterprise=message.enterprise_id, public_id=message.public_id)
        if taken.exists() or not addressee.exists():
            return False
        message.save(force_insert=True)
        record_event(NewEvent(RECEIVED, subject_of(message), message.accepted_at, _payload(message)))
        return True


def _find(device: Device, wanted: NewMessage, digest: bytes, *, at: datetime) -> Accepted:
    """Return the message that was accepted under this id, if this is a repeat of it: it is answered as the first time.

    Where there is none, the message was refused for its database.
    """
    message = Message.objects.filter(enterprise_id=device.subsystem.enterprise_id, public_id=wanted.id).first()
    if message is None:
        raise _no_addressee()
    is_same_sender = message.direction == Message.Direction.REQUEST and message.device_id == device.pk
    is_same_time = wanted.created_at is None or read_created_at(wanted.created_at, at=at) == message.created_at
    if not is_same_sender or not is_same_time or bytes(message.digest) != digest:
        raise IdTaken
    return Accepted(message, is_new=False)


def _new_row(device: Device, wanted: NewMessage, digest: bytes, payload: bytes, at: datetime) -> Message:
    enterprise_id = device.subsystem.enterprise_id
    try:
        check_addressee(wanted.to, enterprise_id)
    except UnknownAddressee as error:
        raise _no_addressee() from error
    message = Message(
        enterprise_id=enterprise_id,
        public_id=wanted.id or str(new_id()),
        direction=Message.Direction.REQUEST,
        database_id=wanted.to,
        device_id=device.pk,
        subsystem_id=device.subsystem_id,
        created_at=read_created_at(wanted.created_at, at=at),
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


def _accept_at_once(message: Message) -> bool:
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
