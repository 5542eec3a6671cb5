"""The past of sensors as intervals of one value, with gaps where the connection was lost. From events alone."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from config.common.times import parse_time, to_milliseconds
from sensors.events import CONNECTION_LOST, CONNECTION_RESTORED, LOSS_WITHDRAWN, STATE_CHANGED
from sensors.history.queries import STEP, read_uncopied
from sensors.history.store import get_store
from sensors.history.values import EventKey, PastEvent, Period

MOST_EVENTS = 50_000
"""Of a sensor that changes more often the chart begins later; what is before is unknown."""
MOST_WITHDRAWN = 1000
ENDINGS = (CONNECTION_RESTORED, LOSS_WITHDRAWN)
SHAPING = (STATE_CHANGED, CONNECTION_LOST, *ENDINGS)


@dataclass(frozen=True, slots=True)
class Interval:
    """The value from `start` to `end`, in milliseconds; None where it is unknown, as while the connection is lost."""

    start: int
    end: int
    value: int | None
    is_lost: bool = False


def read_intervals(sensors: Sequence[str], start: int, end: int) -> dict[str, list[Interval]]:
    """Return the intervals of each sensor that fill the time from `start` to `end`, in order."""
    if not sensors:
        return {}
    fresh = read_uncopied(sensors, Period(), SHAPING, None, MOST_EVENTS)
    by_sensor: dict[str, dict[int, PastEvent]] = {sensor_id: {} for sensor_id in sensors}
    for event in [*fresh, *_read_stored(sensors, start, end)]:
        by_sensor[event.sensor_id][event.id] = event
    return {sensor_id: make_intervals(found.values(), start, end) for sensor_id, found in by_sensor.items()}


def _read_stored(sensors: Sequence[str], start: int, end: int) -> list[PastEvent]:
    """Return the stored events of a time, and those around it whose effect lasts into it."""
    store, events = get_store(), list[PastEvent]()
    before: EventKey | None = None
    while len(events) < MOST_EVENTS:
        step = store.read_events(sensors, Period(start, end), types=SHAPING, before=before, limit=STEP)
        events += step
        if len(step) < STEP:
            # Of each sensor the last change, loss and ending before it.
            events += store.read_last_events(sensors, start, types=SHAPING)
            break
        before = step[-1].key
    # A loss that lasts to the end is shown as one, however it ended, unless it turned out later that it was none.
    return events + store.read_events(sensors, Period(end), types=[LOSS_WITHDRAWN], limit=MOST_WITHDRAWN)


def make_intervals(events: Iterable[PastEvent], start: int, end: int) -> list[Interval]:
    """Return the intervals of a time, from its events, the last ones before it, and those that ended its losses."""
    ordered = sorted(events, key=lambda event: event.key)
    changes = [(event.at, int(event.payload["data"])) for event in ordered if event.type == STATE_CHANGED]
    gaps = _find_gaps(ordered, end)
    times = [at for at, _ in changes] + [edge for gap in gaps for edge in gap]
    edges = sorted({start, end, *(at for at in times if start < at < end)})
    values, losses = _Value(changes), _Losses(gaps)
    pieces = [Interval(one, two, values.at(one), losses.cover(one)) for one, two in pairwise(edges)]
    return list(_join_equal(Interval(p.start, p.end, None, True) if p.is_lost else p for p in pieces))


def _find_gaps(events: Sequence[PastEvent], end: int) -> list[tuple[int, int]]:
    """Return the beginning and end of each loss; a restore names its loss, and a withdrawn one does not count."""
    losses = {event.at: end for event in events if event.type == CONNECTION_LOST}
    for event in events:
        if event.type not in ENDINGS:
            continue
        lost_at = to_milliseconds(parse_time(event.payload["lost_at"]))
        if event.type == LOSS_WITHDRAWN:
            losses.pop(lost_at, None)
        else:
            losses[lost_at] = event.at
    return sorted(losses.items())


class _Value:
    """The value at times that must be asked for in order."""

    def __init__(self, changes: Sequence[tuple[int, int]]) -> None:
        self._changes = iter(changes)
        self._next = next(self._changes, None)
        self._value: int | None = None

    def at(self, time: int) -> int | None:
        while self._next is not None and self._next[0] <= time:
            self._value = self._next[1]
            self._next = next(self._changes, None)
        return self._value


class _Losses:
    """Whether a gap covers times that must be asked for in order."""

    def __init__(self, gaps: Sequence[tuple[int, int]]) -> None:
        self._gaps = iter(gaps)
        self._next = next(self._gaps, None)
        self._until = -1

    def cover(self, time: int) -> bool:
        while self._next is not None and self._next[0] <= time:
            self._until = max(self._until, self._next[1])
            self._next = next(self._gaps, None)
        return time < self._until


def _join_equal(intervals: Iterable[Interval]) -> Iterator[Interval]:
    """Yield the intervals with equal neighbours joined."""
    last: Interval | None = None
    for interval in intervals:
        if last is not None and (last.value, last.is_lost) == (interval.value, interval.is_lost):
            last = Interval(last.start, interval.end, last.value, last.is_lost)
            continue
        if last is not None:
            yield last
        last = interval
    if last is not None:
        yield last
