"""The part of messages in a trace: those to databases and to devices, with their outcome."""

from collections.abc import Iterator

from django.urls import reverse

from config.audit.trace import TraceStep
from messaging.files.names import parties_of
from messaging.models import Message

KINDS = {Message.Direction.REQUEST: "message", Message.Direction.REPLY: "reply"}


def trace_messages(correlation_id: str, most: int) -> Iterator[TraceStep]:
    for direction, kind in KINDS.items():
        found = Message.objects.filter(correlation_id=correlation_id, direction=direction)
        yield from (_accepted(message, kind) for message in found.order_by("pk")[:most])


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
    }
    page = reverse("admin:messaging_message_change", args=[message.pk])
    return TraceStep(message.accepted_at, kind, message.public_id, f"{sender} → {to}", message.status, data, page)
