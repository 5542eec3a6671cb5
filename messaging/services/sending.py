"""A device sends a message: accepted once under its id, however often and from however many places it is sent."""

import uuid
from dataclasses import dataclass
from datetime import datetime

import msgspec
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from config.common.correlation import correlation_id
from config.common.errors import Invalid, TooLarge
from messaging.errors import IdTaken
from messaging.files.envelope import fingerprint, size_of
from messaging.files.writing import drop_drafts, name_drafts, write_drafts
from messaging.models import Device, ExchangeDatabase, Message
from messaging.protocol import Body, Id, check_payload, megabytes
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
    digest = fingerprint(wanted.to, [bytes(wanted.payload)])
    known = _find(device, wanted, digest, at=at)
    if known is not None:
        return known
    payload = bytes(wanted.payload)
    message = _new_row(device, wanted, digest, payload, at)
    write_drafts([(message, payload)])
    try:
        _insert(message)
    except IntegrityError:
        # Someone else's call with this id was first. After any other error the row may have been committed all the
        # same: the draft stays, and is swept if no row knows it.
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
    if not ExchangeDatabase.objects.filter(pk=wanted.to, enterprise=enterprise_id, active=True).exists():
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
    )
    message.size = size_of(message, payload)
    if message.size > megabytes(settings.MESSAGE_MAX_MB):
        raise TooLarge
    check_payload(payload)
    return message


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
        message.save(force_insert=True)
        record_event(Fact("message.received", f"message/{message.public_id}", message.accepted_at, payload))
