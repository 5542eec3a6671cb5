"""What the roles tell each other of an event, as columns of the rows that they make of it."""

from collections.abc import Mapping
from typing import Any

from config.common.moments import parse_moment
from processes.coordination.messages import Header


def columns_of_headers(headers: Mapping[int, Header]) -> dict[str, list[Any]]:
    """Return columns that every role keeps of events, by their ids."""
    told = list(headers.values())
    return {
        "id": list(headers),
        "position": [header.position for header in told],
        "date": [parse_moment(header.date) for header in told],
        "correlation_id": [header.correlation_id for header in told],
        "app_event_type_id": [header.type for header in told],
        "payload_count": [header.payloads for header in told],
    }
