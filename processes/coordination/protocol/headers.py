"""What the roles tell each other of an event, from the row of one and as columns of the rows that the others make."""

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
    """Return columns that every role keeps of events, by their ids."""
    told = list(headers.values())
    return {
        "id": list(headers),
        "position": [header.position for header in told],
        "date": [parse_time(header.date) for header in told],
        "correlation_id": [header.correlation_id for header in told],
        "app_event_type_id": [header.type for header in told],
        "payload_count": [header.payloads for header in told],
    }
