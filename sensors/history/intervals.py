"""The past of one sensor as intervals of one value, with gaps where the connection was lost. From events alone."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from config.common.times import parse_time, to_milliseconds
from sensors.events import CONNECTION_LOST, CONNECTION_RESTORED, LOSS_WITHDRAWN, STATE_CHANGED
from sensors.history.queries import iterate_events, read_events
from sensors.history.values import PastEvent, Period

MOST_EVENTS = 50_000
"""Of a sensor that changes more often the chart begins later; what is before is unknown."""
ENDINGS = (CONNECTION_RESTORED, LOSS_WITHDRAWN)


@dataclass(frozen=True, slots=True)
class Interval:
    """The value from `start` to `end`, in milliseconds; None where it is unknown, as while the connection is lost."""

    start: int
    end: int
    value: int | None
    is_lost: bool = False


def read_intervals(sensor_id: str, start: int, end: int) -> list[Interval]:
    """Return the intervals that fill the time from `start` to `end`, in order."""
    events = list(islice(iterate_events([sensor_id], Period(start, end)), MOST_EVENTS))
    earlier = [] if len(events) == MOST_EVENTS else _read_earlier(sensor_id, start)
    endings = list(iterate_events([sensor_id], Period(end), types=ENDINGS))
    return make_intervals([*earlier, *events, *endings], start, end)


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


def _read_earlier(sensor_id: str, start: int) -> list[PastEvent]:
    """Return the events whose effect lasts into the time: the last change, loss and ending before it."""
    before = Period(None, start)
    return [
        event
        for types in ([STATE_CHANGED], [CONNECTION_LOST], ENDINGS)
        for event in read_events([sensor_id], before, types=types, limit=1)
    ]


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
