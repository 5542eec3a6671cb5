"""Queries about the past of sensors: the store, and the events that the relay has not copied there yet.

An event is in the outbox from the commit of its fact and in the store a little later. The relay's position is read
first and the store last, so an event that moves meanwhile is found at least once; its id makes it one.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import msgspec
from django.db.models import Exists, F, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Concat, Substr

from config.common.database.sql import in_array
from notifications.models import Event
from notifications.selectors import Progress, read_progress
from notifications.sending.outcomes import ATTEMPTED
from sensors.events import EVENT_TYPES, STATE_CHANGED
from sensors.history.database import behind, within
from sensors.history.follower import NAME
from sensors.history.store import get_store
from sensors.history.values import (
    ClientSensors,
    EventKey,
    PastAttempt,
    PastEvent,
    Period,
    Sensors,
    SignalKey,
    signal_key,
    to_past_attempt,
    to_past_event,
)
from sensors.history.windows import FEW_SENSORS
from sensors.ingest.signals import Signal
from sensors.models import SensorClient
from sensors.subjects import PREFIX, subject_of

STEP = 5000
FEW_UNCOPIED = 10_000
"""So many events that history lacks are read to find those of many sensors; of more those of each are looked for."""


@dataclass(frozen=True)
class _Look:
    progress: Progress
    named: dict[int, Sensors] = field(default_factory=dict)
    """By the client: its sensors by their names, if they are few."""


_shared: ContextVar[_Look | None] = ContextVar("shared_look", default=None)


@contextmanager
def shared_look() -> Iterator[None]:
    """Let the reads of the block, which answer one call, share one look at the relay's position and at few sensors.

    An older position only means that more events are found in both places.
    """
    token = _shared.set(_Look(read_progress(NAME)))
    try:
        yield
    finally:
        _shared.reset(token)


class PastSignal(msgspec.Struct, frozen=True, gc=False):
    """A signal, and whether it changed the state of its sensor: whether an event was recorded for it."""

    signal: Signal
    changed: bool
    event_id: int | None = None
    """The id of its event, in a list of changes."""

    @property
    def key(self) -> SignalKey | EventKey:
        """The cursor behind which its list goes on."""
        return signal_key(self.signal) if self.event_id is None else (self.signal.at, self.event_id)


def read_signals(sensors: Sensors, period: Period, *, before: SignalKey | None = None, limit: int) -> list[PastSignal]:
    """Return every signal of the period, newest first."""
    sensors = _name_few(sensors)
    signals = get_store().read_signals(sensors, period, before=before, limit=limit) if sensors else []
    changing = _find_changing(signals)
    return [PastSignal(signal, (signal.at, signal.sensor_id, signal.id) in changing) for signal in signals]


def read_changes(sensors: Sensors, period: Period, *, before: EventKey | None = None, limit: int) -> list[PastSignal]:
    """Return the signals of the period that changed a state, newest first."""
    events = read_events(sensors, period, types=[STATE_CHANGED], before=before, limit=limit)
    found = get_store().find_signals([_key_of_signal(event) for event in events])
    known = {signal_key(signal): signal for signal in found}
    changes = []
    for event in events:
        signal = known.get(_key_of_signal(event))
        if signal is None:  # still on its way into history: the event knows enough of it
            at, sensor_id, signal_id = _key_of_signal(event)
            signal = Signal(sensor_id, at, signal_id, event.payload["data"], event.recorded_at)
        changes.append(PastSignal(signal, True, event.id))
    return changes


def read_events(
    sensors: Sensors,
    period: Period,
    *,
    types: Sequence[str] = EVENT_TYPES,
    before: EventKey | None = None,
    limit: int,
) -> list[PastEvent]:
    """Return the events of the period, newest first."""
    sensors = _name_few(sensors)
    if not sensors:
        return []
    uncopied = read_uncopied(sensors, period, types, before, limit)
    stored = get_store().read_events(sensors, period, types=types, before=before, limit=limit)
    once = {event.id: event for event in [*stored, *uncopied]}
    return sorted(once.values(), key=lambda event: event.key, reverse=True)[:limit]


def read_attempts(
    sensors: Sequence[str], period: Period, *, before: EventKey | None = None, limit: int
) -> list[PastAttempt]:
    """Return the attempts of deliveries about these sensors, newest first; those of the last seconds may be missing."""
    if not sensors:
        return []
    found = get_store().read_events(sensors, period, types=[ATTEMPTED], before=before, limit=limit)
    return [to_past_attempt(event) for event in found]


def read_uncopied(
    sensors: Sensors, period: Period, types: Sequence[str], before: EventKey | None, limit: int | None
) -> list[PastEvent]:
    """Return the events of the outbox that the relay has not copied yet; read them before the store."""
    look = _shared.get()
    progress = read_progress(NAME) if look is None else look.progress
    if progress.is_level:
        return []
    ahead = Q(position__gt=progress.position) | Q(position__isnull=True)
    rows = _about(Event.objects.filter(ahead, within(period), type__in=types), sensors, progress)
    return [to_past_event(row) for row in behind(rows, before).order_by("-at", "-id")[:limit]]


def _about(rows: QuerySet[Event], sensors: Sensors, progress: Progress) -> QuerySet[Event]:
    """Return those of the uncopied events that are about these sensors.

    Few of them not by the index of subjects: it leads to every event that the sensors had as long as events are kept.
    """
    by_subject = progress.lag > FEW_UNCOPIED
    if isinstance(sensors, ClientSensors):
        links = SensorClient.objects.filter(client_id=sensors.client_id)
        if by_subject:
            return rows.filter(subject__in=links.values(subject=Concat(Value(PREFIX), F("sensor_id"))))
        named = Substr(OuterRef("subject"), len(PREFIX) + 1)
        return rows.filter(Exists(links.filter(sensor_id=named)), subject__startswith=PREFIX)
    subjects = [subject_of(sensor_id) for sensor_id in sensors]
    if len(subjects) == 1:
        return rows.filter(subject=subjects[0])
    if by_subject:
        return rows.filter(subject__in=in_array(subjects))
    return rows.annotate(about=Concat("subject", Value(""))).filter(about__in=in_array(subjects))


def _name_few(sensors: Sensors) -> Sensors:
    """Return the sensors of a client by their names if they are few: indexes lead to the rows of each."""
    if not isinstance(sensors, ClientSensors):
        return sensors
    named = {} if (look := _shared.get()) is None else look.named
    if sensors.client_id not in named:
        links = SensorClient.objects.filter(client_id=sensors.client_id)
        few = list(links.values_list("sensor_id", flat=True)[: FEW_SENSORS + 1])
        named[sensors.client_id] = sensors if len(few) > FEW_SENSORS else few
    return named[sensors.client_id]


def _find_changing(signals: Sequence[Signal]) -> set[SignalKey]:
    """Return the keys of those signals of a page that changed a state."""
    if not signals:
        return set()
    # All signals of these sensors in this period are on the page: the events are no more than they are.
    period = Period(signals[-1].at, signals[0].at + 1)
    sensors = sorted({signal.sensor_id for signal in signals})
    uncopied = {_key_of_signal(event) for event in read_uncopied(sensors, period, [STATE_CHANGED], None, None)}
    return uncopied | get_store().find_changing(sensors, period)


def _key_of_signal(event: PastEvent) -> SignalKey:
    return (event.at, event.sensor_id, event.payload["signal_id"])
