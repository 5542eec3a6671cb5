"""Signals, events and notifications of sensors in one list, newest first, page by page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from heapq import merge
from itertools import islice
from typing import TypeAlias

from notifications.sending.outcomes import ATTEMPTED
from sensors.events import EVENT_TYPES
from sensors.history.queries import PastSignal, read_events, read_signals
from sensors.history.values import (
    EventKey,
    PastAttempt,
    PastEvent,
    Period,
    Sensors,
    SignalKey,
    signal_key,
    to_past_attempt,
)

ROWS_AT_ONCE = 1000


class Kind(StrEnum):
    SIGNAL = "signal"
    EVENT = "event"
    NOTIFICATION = "notification"


Record: TypeAlias = PastSignal | PastEvent | PastAttempt


@dataclass(frozen=True)
class Entry:
    kind: Kind
    at: int
    sensor_id: str
    record: Record


@dataclass(frozen=True)
class Cursor:
    """Behind what a list goes on: signals and events have keys of their own."""

    signal: SignalKey | None = None
    event: EventKey | None = None


@dataclass(frozen=True)
class Question:
    """What a list is about: all of these kinds, of these sensors, in a period."""

    sensors: Sensors
    period: Period
    kinds: frozenset[Kind]
    endpoint: int | None = None
    """Of notifications only those to this endpoint."""


def read_entries(asked: Question, *, behind: Cursor, limit: int) -> tuple[list[Entry], Cursor | None]:
    """Return a page of the list, and behind what the next one goes on; None: there is none.

    A page may have fewer entries than its limit while there are more: notifications to others are left out.
    """
    signals, events = _read_signals(asked, behind, limit), _read_events(asked, behind, limit)
    found = list(islice(merge(signals, events, key=lambda entry: -entry.at), limit + 1))
    shown = found[:limit]
    if len(found) <= limit:
        return _of_endpoint(shown, asked), None
    return _of_endpoint(shown, asked), _advance(behind, shown)


def iterate_entries(asked: Question) -> Iterator[list[Entry]]:
    """Yield all pages of a list, one after the other."""
    behind: Cursor | None = Cursor()
    while behind is not None:
        entries, behind = read_entries(asked, behind=behind, limit=ROWS_AT_ONCE)
        yield entries


def _read_signals(asked: Question, behind: Cursor, limit: int) -> list[Entry]:
    if Kind.SIGNAL not in asked.kinds:
        return []
    rows = read_signals(asked.sensors, asked.period, before=behind.signal, limit=limit + 1)
    return [Entry(Kind.SIGNAL, row.signal.at, row.signal.sensor_id, row) for row in rows]


def _read_events(asked: Question, behind: Cursor, limit: int) -> list[Entry]:
    types = [*(EVENT_TYPES if Kind.EVENT in asked.kinds else ())]
    types += [ATTEMPTED] if Kind.NOTIFICATION in asked.kinds else []
    if not types:
        return []
    rows = read_events(asked.sensors, asked.period, types=types, before=behind.event, limit=limit + 1)
    return [
        Entry(Kind.NOTIFICATION, row.at, row.sensor_id, to_past_attempt(row))
        if row.type == ATTEMPTED
        else Entry(Kind.EVENT, row.at, row.sensor_id, row)
        for row in rows
    ]


def _advance(behind: Cursor, shown: Sequence[Entry]) -> Cursor:
    """Return the cursor behind the last entry of each kind that was shown."""
    signal, event = behind.signal, behind.event
    for entry in shown:
        if isinstance(entry.record, PastSignal):
            signal = signal_key(entry.record.signal)
        else:
            event = entry.record.key
    return Cursor(signal, event)


def _of_endpoint(entries: list[Entry], asked: Question) -> list[Entry]:
    if asked.endpoint is None:
        return entries
    return [
        entry
        for entry in entries
        if not isinstance(entry.record, PastAttempt) or entry.record.endpoint == asked.endpoint
    ]
