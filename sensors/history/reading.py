"""Read the past of sensors: the store, and what the event relay has not carried there yet.

An event is in the outbox from the commit of its fact and in the store a little later. The relay's position is read
first and the store last, so an event that moves meanwhile is found at least once; its id makes it one.
"""

from collections.abc import Iterator, Sequence

import msgspec
from django.db.models import Q

from config.common.sql import among
from notifications.models import Event, Follower
from sensors.history.database import behind, within
from sensors.history.follower import NAME
from sensors.history.store import get_store
from sensors.history.values import KINDS, STATE_CHANGED, EventKey, PastEvent, Period, SignalKey, past_event, signal_key
from sensors.ingest.signals import Signal
from sensors.services.telling import subject_of

STEP = 5000


class PastSignal(msgspec.Struct, frozen=True):
    """A signal, and whether it changed the state of its sensor: that is, whether an event was written for it."""

    signal: Signal
    changed: bool
    key: SignalKey | EventKey
    """Its place in the list it was read from."""


def read_signals(
    sensors: Sequence[str], period: Period, *, before: SignalKey | None = None, limit: int
) -> list[PastSignal]:
    """Return every signal of the period, newest first."""
    signals = get_store().read_signals(sensors, period, before=before, limit=limit) if sensors else []
    changing = _changing(signals)
    keys = [signal_key(signal) for signal in signals]
    return [PastSignal(signal, key in changing, key) for signal, key in zip(signals, keys, strict=True)]


def read_changes(
    sensors: Sequence[str], period: Period, *, before: EventKey | None = None, limit: int
) -> list[PastSignal]:
    """Return the signals of the period that changed a state, newest first."""
    events = read_events(sensors, period, types=[STATE_CHANGED], before=before, limit=limit)
    found = get_store().find_signals([_key_of_signal(event) for event in events])
    known = {signal_key(signal): signal for signal in found}
    return [PastSignal(known.get(_key_of_signal(event)) or _signal_of(event), True, event.key) for event in events]


def read_events(
    sensors: Sequence[str],
    period: Period,
    *,
    types: Sequence[str] = KINDS,
    before: EventKey | None = None,
    limit: int,
) -> list[PastEvent]:
    """Return the events of the period, newest first."""
    if not sensors:
        return []
    waiting = _read_waiting(sensors, period, types, before, limit)
    stored = get_store().read_events(sensors, period, types=types, before=before, limit=limit)
    once = {event.id: event for event in [*stored, *waiting]}
    return sorted(once.values(), key=lambda event: event.key, reverse=True)[:limit]


def iterate_events(sensors: Sequence[str], period: Period, *, types: Sequence[str] = KINDS) -> Iterator[PastEvent]:
    """Return all events of the period, newest first, reading them in steps."""
    before: EventKey | None = None
    while True:
        events = read_events(sensors, period, types=types, before=before, limit=STEP)
        yield from events
        if len(events) < STEP:
            return
        before = events[-1].key


def _read_waiting(
    sensors: Sequence[str], period: Period, types: Sequence[str], before: EventKey | None, limit: int
) -> list[PastEvent]:
    """Return what the relay has still to carry."""
    carried = Follower.objects.filter(name=NAME).values_list("position", flat=True).first() or 0
    subjects = [subject_of(sensor_id) for sensor_id in sensors]
    rows = Event.objects.filter(Q(position__gt=carried) | Q(position__isnull=True), within(period), type__in=types)
    rows = rows.filter(subject=subjects[0]) if len(subjects) == 1 else rows.filter(subject__in=among(subjects))
    return [past_event(row) for row in behind(rows, before).order_by("-at", "-id")[:limit]]


def _changing(signals: Sequence[Signal]) -> set[SignalKey]:
    """Return the keys of those signals that changed a state.

    All signals of these sensors between the oldest and the newest are on the page, so the events are no more than
    they are.
    """
    if not signals:
        return set()
    period = Period(min(signal.at for signal in signals), max(signal.at for signal in signals) + 1)
    sensors = sorted({signal.sensor_id for signal in signals})
    return {_key_of_signal(event) for event in iterate_events(sensors, period, types=[STATE_CHANGED])}


def _key_of_signal(event: PastEvent) -> SignalKey:
    return (event.at, event.sensor_id, event.payload["signal_id"])


def _signal_of(event: PastEvent) -> Signal:
    """Tell the signal from its event while it is still on its way into history."""
    at, sensor_id, signal_id = _key_of_signal(event)
    return Signal(sensor_id, at, signal_id, event.payload["data"], event.recorded_at)
