"""As much of a row as its telling needs: a role tells of thousands in a turn, and a row's notes of steps are long."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from django.db.models import QuerySet


class Line(NamedTuple):
    """An event."""

    pk: int
    status: int
    reason: str


class PayloadLine(NamedTuple):
    pk: int
    event: int
    status: int


def read_lines(rows: QuerySet[Any], most: int) -> list[Line]:
    return [Line(*line) for line in rows.values_list("pk", "app_event_status_id", "reason")[:most]]


def read_payload_lines(rows: QuerySet[Any], event: str, most: int) -> list[PayloadLine]:
    """Read payloads, each with the event that `event` names."""
    return [PayloadLine(*line) for line in rows.values_list("pk", event, "app_event_payload_status_id")[:most]]


def group_by_status(lines: Iterable[Line]) -> defaultdict[int, set[int]]:
    """Return the ids of events by the numbers of their statuses."""
    grouped: defaultdict[int, set[int]] = defaultdict(set)
    for pk, status, _ in lines:
        grouped[status].add(pk)
    return grouped
