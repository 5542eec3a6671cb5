"""What the roles tell each other. Each message can be told again, late or in any order."""

from enum import StrEnum
from typing import Any

import msgspec

WRITER = "coordination.writer"
COORDINATOR = "coordination.coordinator"
PAGE = 10
"""Payloads travel in pages of so many."""


def queue_of_reader(name: str) -> str:
    return f"coordination.reader.{name}"


class MessageType(StrEnum):
    EVENT_CREATED = "event.created"  # 2 → 3
    SAVING_BEGINS = "saving.begins"  # 4 → 5
    PAYLOADS_WANTED = "payloads.wanted"  # 6 → 7
    PAYLOADS = "payloads"  # 7 → 8
    PAYLOADS_SAVED = "payloads.saved"  # 9 → 10
    SAVING_ENDED = "saving.ended"  # 12 → 13
    PREPARE = "prepare"  # 15 → 16
    PREPARING_BEGINS = "preparing.begins"  # 17 → 18
    PREPARE_PAYLOADS = "prepare.payloads"  # 19 → 20
    PAYLOADS_PREPARED = "payloads.prepared"  # 21 → 22
    PROCESS = "process"  # 24 → 25
    PROCESSING_BEGINS = "processing.begins"  # 26 → 27
    PAYLOADS_PROCESSED = "payloads.processed"  # 29 → 30
    PROCESSED = "processed"  # 32 → 33, with the verdict
    COMMIT = "commit"  # 34.2 → 34.3
    COMMITTED = "committed"  # 34.4 → 34.5
    EVENT_COMMITTED = "event.committed"  # 34.6 → 34.7
    CANCEL = "cancel"  # 35.2 → 35.3
    CANCELED = "canceled"  # 35.4 → 35.5
    EVENT_CANCELED = "event.canceled"  # 35.6 → 35.7
    UNKNOWN = "unknown"  # a reader has not what it is told about: it was rebuilt, or its database restored
    ALIVE = "alive"  # a role lives: the deadline counts


class Header(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a role needs to make a row of the event."""

    position: int
    type: int
    date: str
    correlation_id: str
    payloads: int
    is_undone: bool = True
    is_saved: bool = False
    """The Writer knows that the Coordinator has the payloads: it asks again only how the event has ended."""


class Payload(msgspec.Struct, frozen=True):
    id: int
    content: str


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    told: MessageType
    event: int = 0
    role: str = ""
    """Who says it, where the Coordinator must know."""
    header: Header | None = None
    payloads: list[Payload] = []
    ids: list[int] = []
    is_last: bool = False
    reason: str = ""
    """Why a reader refuses; empty: it does not."""


OutgoingMessage = tuple[str, Message]
"""A queue and what to put into it."""

_decoder = msgspec.json.Decoder(list[Message])


def encode_message(message: Message) -> bytes:
    return msgspec.json.encode(message)


def decode_messages(body: bytes) -> list[Message]:
    """Read the messages of an envelope, which is a list of them."""
    return _decoder.decode(body)


def split_pages(items: list[Any]) -> list[list[Any]]:
    return [items[start : start + PAGE] for start in range(0, len(items), PAGE)]
