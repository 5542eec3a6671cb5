"""Record events: the one writer of `notifications_event`, in the transaction that makes each event true."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import Any

from config.common.background.ring import ring
from config.common.correlation import correlation_id
from config.common.database.sql import bulk_execute, load_sql
from config.common.text import encode_clean

SEQUENCER = "sequencer"


@dataclass(frozen=True)
class NewEvent:
    type: str
    subject: str
    at: datetime
    payload: dict[str, Any] = field(default_factory=dict)
    correlation_id: str = ""
    """By default that of the call that records it."""


def record_events(events: Iterable[NewEvent]) -> None:
    """Write these events, in their order, in one statement.

    Call it while the row lock of each subject is held, as every service does that changes one: then two events of one
    subject take their ids in the order in which they commit, and followers see them in that order.
    """
    current = correlation_id()
    rows = [
        (event.type, event.subject, encode_clean(event.payload), event.at, event.correlation_id or current)
        for event in events
    ]
    if rows:
        bulk_execute("notifications", "record_events", rows)
        ring(SEQUENCER)


def record_event(event: NewEvent) -> None:
    record_events([event])


@cache
def event_part(cause: str) -> str:
    """Return the part of a PostgreSQL statement that records events in the round trip that makes them true.

    `cause` names an earlier part of the statement (`WITH cause AS (…)`): without a row there no event is written. The
    parameters are `events`, by `encode_events`, `at` and `chain`. Whoever runs the statement rings `SEQUENCER`.
    """
    return load_sql("notifications", "record_events_of.postgresql").format(cause=cause)


def encode_events(events: Iterable[Mapping[str, object]]) -> str:
    """Return the parameter `events`: each has a type, a subject and a payload."""
    return encode_clean(list(events))
