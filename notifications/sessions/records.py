"""The records of sessions: compact JSON, each written once, counted in bytes."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from django.utils.translation import gettext

from config.common.database.sql import in_number_array
from config.common.errors import Invalid
from notifications.errors import SessionTooLong
from notifications.models import SessionRecord, Theme


def encode_records(records: Sequence[Any]) -> list[str]:
    """Return each record as compact JSON; what JSON cannot hold is invalid."""
    if isinstance(records, str | bytes | dict):
        raise Invalid({"records": [gettext("Must be a list.")]})
    try:
        return [msgspec.json.encode(record).decode() for record in records]
    except (TypeError, ValueError, RecursionError) as error:
        raise Invalid({"records": [gettext("Must be JSON: %(error)s") % {"error": error}]}) from error


def decode_record(body: str) -> Any:
    return msgspec.json.decode(body)


def length_of(bodies: Sequence[str], *, after: int = 2) -> int:
    """Return the bytes of the compact JSON list of these records; `after` is the length of those before them."""
    separators = len(bodies) if after > 2 else max(len(bodies) - 1, 0)
    return after + separators + sum(len(body.encode()) for body in bodies)


def check_length(theme: Theme, length: int) -> None:
    if length > theme.length_limit:
        raise SessionTooLong(length=length, limit=theme.length_limit)


def insert_records(session_id: int, bodies: Sequence[str], *, first: int = 0) -> None:
    SessionRecord.objects.bulk_create(
        SessionRecord(session_id=session_id, position=first + place, body=body) for place, body in enumerate(bodies)
    )


def read_records(session_ids: Collection[int]) -> dict[int, list[Any]]:
    """Return the records of many sessions, each in order, by one query."""
    found: defaultdict[int, list[Any]] = defaultdict(list)
    rows = SessionRecord.objects.filter(session__in=in_number_array(session_ids)).order_by("session_id", "position")
    for session_id, body in rows.values_list("session_id", "body"):
        found[session_id].append(decode_record(body))
    return found
