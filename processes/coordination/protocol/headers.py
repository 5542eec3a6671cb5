"""Headers of events: built from the sender's row, and as columns of the rows that the receivers insert."""

from collections.abc import Mapping
from typing import Any

from config.common.times import format_time, parse_time
from processes.coordination.models import AppEvent, WriterEvent
from processes.coordination.protocol.messages import Header


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
