"""The content of a message file: an envelope, whose bytes follow from the row, around the payload as it was sent."""

import hashlib
from collections.abc import Iterable

import msgspec

from config.common.times import format_time
from messaging.files.names import name_of, parties_of
from messaging.models.message import Message

VERSION = 1
TAIL = b"}"


def head_of(message: Message) -> bytes:
    """Return the bytes before the payload; a file that begins with others is not that of this message."""
    sender, to = parties_of(message)
    fields: dict[str, str | int] = {
        "version": VERSION,
        "id": message.public_id,
        "name": name_of(message),
        "from": sender,
        "to": to,
        "subsystem": message.subsystem_id,
        "created_at": format_time(message.created_at),
    }
    if message.reply_to:
        fields["reply_to"] = message.reply_to
    fields["correlation_id"] = message.correlation_id
    return msgspec.json.encode(fields)[:-1] + b',"payload":'


def size_of(message: Message, payload: bytes) -> int:
    return len(head_of(message)) + len(payload) + len(TAIL)


def fingerprint(to: str, payload: Iterable[bytes]) -> bytes:
    """Return a digest that tells a repeat from another message with the same id; it can be taken from a file too."""
    digest = hashlib.sha256(to.encode() + b"\n")
    for chunk in payload:
        digest.update(chunk)
    return digest.digest()


def content_of(message: Message, payload: bytes) -> tuple[bytes, bytes, bytes]:
    return head_of(message), payload, TAIL
