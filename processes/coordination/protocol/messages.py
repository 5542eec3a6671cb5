"""The messages between the roles. Each may come twice, late or in any order: the steps are safe to repeat."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

import msgspec

from config.common.times import format_time, parse_time
from processes.coordination.models import AppEvent, WriterEvent

WRITER = "coordination.writer"
COORDINATOR = "coordination.coordinator"
PAGE = 10
"""Payloads of one message."""


def queue_of_reader(name: str) -> str:
    return f"coordination.reader.{name}"


class MessageType(StrEnum):
    """What a message says, with the step that sends it and the step that it leads to."""

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
    UNKNOWN = "unknown"  # a reader does not have this event: it was rebuilt, or its database restored
    ALIVE = "alive"  # a heartbeat: deadlines count only while all roles send them


class Header(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the receiver needs to insert its own row of the event."""

    position: int
    type: int
    date: str
    correlation_id: str
    payloads: int
    is_undone: bool = True
    is_saved: bool = False
    """The Writer knows that the Coordinator has the payloads, and asks only how the event has ended."""


class Payload(msgspec.Struct, frozen=True):
    id: int
    content: str


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    # Other versions of the product read and write this name while nodes are replaced one by one.
    type: MessageType = msgspec.field(name="told")
    event: Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] = 0  # what a column can hold
    role: str = ""
    """The sender, where the Coordinator must know: a reader, or the role of a heartbeat."""
    header: Header | None = None
    payloads: list[Payload] = []
    ids: list[int] = []
    is_last: bool = False
    reason: str = ""
    """Why a reader refuses; empty: it does not."""


OutgoingMessage = tuple[str, Message]
"""The name of a queue and the message for it."""

_decoder = msgspec.json.Decoder(list[Message])


def encode_message(message: Message) -> bytes:
    return msgspec.json.encode(message)


def decode_messages(body: bytes) -> list[Message]:
    """Return the messages of an envelope, which is a JSON list of them."""
    return _decoder.decode(body)


def split_pages(items: list[Any]) -> list[list[Any]]:
    return [items[start : start + PAGE] for start in range(0, len(items), PAGE)]


def build_header(event: AppEvent | WriterEvent, *, is_saved: bool = False) -> Header:
    assert event.position is not None
    return Header(
        position=event.position,
        type=event.app_event_type_id,
        date=format_time(event.date),
        correlation_id=event.correlation_id,
        payloads=event.payload_count,
        is_undone=event.is_undone,
        is_saved=is_saved,
    )


def header_columns(headers: Mapping[int, Header]) -> dict[str, list[Any]]:
    """Return the columns that every role has of events, from headers by the ids of their events."""
    values = list(headers.values())
    return {
        "id": list(headers),
        "position": [header.position for header in values],
        "date": [parse_time(header.date) for header in values],
        "correlation_id": [header.correlation_id for header in values],
        "app_event_type_id": [header.type for header in values],
        "payload_count": [header.payloads for header in values],
    }
