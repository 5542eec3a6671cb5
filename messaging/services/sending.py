"""A device sends a message: accepted once under its id, however often and from however many places it is sent."""

import uuid
from dataclasses import dataclass
from datetime import datetime

import msgspec
from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.utils.translation import gettext

from config.common.correlation import correlation_id
from config.common.errors import Invalid, TooLarge
from config.common.sql import load
from messaging.errors import IdTaken
from messaging.files.envelope import fingerprint, size_of
from messaging.files.writing import drop_drafts, name_drafts, write_drafts
from messaging.models import Device, Message
from messaging.naming import subject_of
from messaging.protocol import Body, Id, check_payload, megabytes
from messaging.services.inserting import insert_message
from messaging.services.values import read_created_at
from notifications.services.events import Fact, record_event


class NewMessage(Body):
    to: Id
    payload: msgspec.Raw
    id: Id | None = None
    created_at: str | None = None


@dataclass(frozen=True)
class Accepted:
    message: Message
    is_new: bool


def send_message(*, device: Device, wanted: NewMessage, at: datetime) -> Accepted:
    """Accept a message: its draft is on the disk, then its row is committed, then the draft gets its name."""
    payload = bytes(wanted.payload)
    digest = fingerprint(wanted.to, [payload])
    try:
        message = _new_row(device, wanted, digest, payload, at)
    except Invalid:
        # A repeat is answered as the first time, also when its database has been deactivated since.
        known = _find(device, wanted, digest, at=at)
        if known is None:
            raise
        return known
    write_drafts([(message, payload)])
    try:
        _insert(message)
    except IntegrityError:
        # A repeat, or someone else's call with this id that was first. After any other error the row may have been
        # committed all the same: the draft stays, and is swept if no row knows it.
        drop_drafts([message])
        known = _find(device, wanted, digest, at=at)
        if known is None:
            raise
        return known
    name_drafts([message])
    return Accepted(message, is_new=True)


def _find(device: Device, wanted: NewMessage, digest: bytes, *, at: datetime) -> Accepted | None:
    """Return the message that was accepted under this id, if this is a repeat of it."""
    if wanted.id is None:
        return None
    message = Message.objects.filter(enterprise_id=device.subsystem.enterprise_id, public_id=wanted.id).first()
    if message is None:
        return None
    is_same_sender = message.direction == Message.Direction.REQUEST and message.device_id == device.pk
    is_same_time = wanted.created_at is None or read_created_at(wanted.created_at, at=at) == message.created_at
    if not is_same_sender or not is_same_time or bytes(message.digest) != digest:
        raise IdTaken
    return Accepted(message, is_new=False)


def _new_row(device: Device, wanted: NewMessage, digest: bytes, payload: bytes, at: datetime) -> Message:
    enterprise_id = device.subsystem.enterprise_id
    if not _is_addressee(wanted.to, enterprise_id):
        raise Invalid({"to": [gettext("Must be an active database of your enterprise.")]})
    message = Message(
        enterprise_id=enterprise_id,
        public_id=wanted.id or str(uuid.uuid4()),
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
        raise TooLarge
    check_payload(payload)
    return message


def _is_addressee(database_id: str, enterprise_id: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(load("messaging", "find_addressee"), [database_id, enterprise_id])
        return cursor.fetchone() is not None


def _insert(message: Message) -> None:
    payload = {
        "message": message.public_id,
        "device": message.device_id,
        "database": message.database_id,
        "subsystem": message.subsystem_id,
        "enterprise": message.enterprise_id,
        "bytes": message.size,
    }
    with transaction.atomic():
        insert_message(message)
        record_event(Fact("message.received", subject_of(message), message.accepted_at, payload))
