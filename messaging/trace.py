"""The part of messages in a trace: those to databases and to devices, with their outcome."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from django.urls import reverse
from django.utils.translation import gettext

from config.audit.trace import Standing, TraceStep, Upcoming
from config.common.times import format_time
from messaging.files.names import parties_of
from messaging.models import Message

KINDS = {Message.Direction.REQUEST: "message", Message.Direction.REPLY: "reply"}
STANDINGS = {Message.Status.PROCESSED: Standing.DONE, Message.Status.INCORRECT: Standing.FAILED}
"""All others are still to be settled."""


def trace_messages(correlation_id: str, most: int) -> Iterator[TraceStep]:
    number = Counter[str]()
    for message in Message.objects.filter(correlation_id=correlation_id).order_by("pk")[: most * len(KINDS)]:
        kind = KINDS[Message.Direction(message.direction)]
        number[kind] += 1
        if number[kind] > most:
            continue
        yield _accepted(message, kind)
        if message.direction == Message.Direction.REPLY and message.settled_at is not None:
            yield _settled(message, message.settled_at, kind)


def _accepted(message: Message, kind: str) -> TraceStep:
    sender, to = parties_of(message)
    data = {
        "from": sender,
        "to": to,
        "subsystem": message.subsystem_id,
        "folder": message.folder,
        "bytes": message.size,
        "reply_to": message.reply_to or None,
        "error_text": message.error_text or None,
        "error_code": message.error_code or None,
        "process": None if message.process is None else str(message.process),
        "settled_at": None if message.settled_at is None else format_time(message.settled_at),
    }
    page = reverse("admin:messaging_message_change", args=[message.pk])
    standing = STANDINGS.get(Message.Status(message.status), Standing.OPEN)
    return TraceStep(
        message.accepted_at,
        kind,
        message.public_id,
        f"{sender} → {to}",
        message.status,
        data,
        page,
        standing=standing,
        upcoming=(Upcoming(_awaited(message, to)),) if standing == Standing.OPEN else (),
    )


def _settled(message: Message, at: datetime, kind: str) -> TraceStep:
    """Return how a reply ended: its device has confirmed it, or its file cannot be read: nobody will have it."""
    page = reverse("admin:messaging_message_change", args=[message.pk])
    is_confirmed = message.status == Message.Status.PROCESSED
    words = gettext("confirmed by %(device)s") if is_confirmed else gettext("not available to %(device)s")
    device = {"device": message.device_id}
    standing = Standing.DONE if is_confirmed else Standing.FAILED
    return TraceStep(
        at,
        kind,
        message.public_id,
        words % device,
        message.status,
        device,
        page,
        standing=standing,
        continues=True,
    )


def _awaited(message: Message, to: str) -> str:
    if message.set_aside_at is not None:
        return gettext("set aside until it is returned to the queue")
    match message.status:
        case Message.Status.WAITING:
            return gettext("waiting until %(receiver)s fetches it") % {"receiver": to}
        case Message.Status.IN_DOUBT:
            return gettext("waiting for a decision")
        case _:
            return gettext("waiting for its exchange process")
