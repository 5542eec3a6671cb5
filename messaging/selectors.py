"""Reads of messages that join or shape."""

from dataclasses import dataclass
from datetime import datetime

from messaging.errors import MessageNotFound
from messaging.models import Message


@dataclass(frozen=True)
class Receipt:
    """What became of a message, for whoever sent it."""

    status: str
    error_text: str
    error_code: int | str | None
    replies: list[str]
    updated_at: datetime
    correlation_id: str


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
    return Receipt(
        status=message.status,
        error_text=message.error_text,
        error_code=parse_error_code(message.error_code),
        replies=_replies(message),
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
    """Return a code as it was given: the ERP's are numbers, ours are words."""
    if not text:
        return None
    return int(text) if text.lstrip("-").isdigit() else text


def _replies(message: Message) -> list[str]:
    """List what answers the message and is out of doubt."""
    replies = Message.objects.filter(enterprise=message.enterprise_id, reply_to=message.public_id)
    known = replies.filter(status__in=[Message.Status.WAITING, Message.Status.PROCESSED])
    return list(known.order_by("created_at", "id").values_list("public_id", flat=True))
