"""The chart of a sensor: open and closed over a period, gaps where it was lost. Values for a template, no markup."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext, pgettext

from config.admin_base.times import format_local
from config.common.times import from_milliseconds, to_milliseconds
from sensors.admin.period import SECTIONS, ShownPeriod
from sensors.history.errors import HistoryAway
from sensors.history.intervals import Interval, read_intervals

DAY_AND_A_HALF = 36 * 3_600_000
HALF_A_YEAR = 183 * 24 * 3_600_000
WIDTH = 1000.0
NARROWEST = 0.8
"""What is narrower is drawn together with its neighbours."""


@dataclass(frozen=True)
class Bar:
    kind: str
    """open, closed, lost, unknown, or changing: too many changes to be drawn one by one."""
    left: float
    width: float
    title: str


@dataclass(frozen=True)
class Total:
    kind: str
    name: str
    share: float


@dataclass(frozen=True)
class Chart:
    bars: list[Bar]
    ticks: list[str]
    totals: list[Total]


def draw_charts(sensor_ids: Sequence[str], shown: ShownPeriod) -> dict[str, Chart] | None:
    """Return the chart of each sensor, or None while history cannot be reached."""
    start, end = to_milliseconds(shown.start), to_milliseconds(shown.end)
    try:
        found = read_intervals(sensor_ids, start, end)
    except HistoryAway:
        return None
    return {sensor_id: make_chart(intervals, start, end) for sensor_id, intervals in found.items()}


def make_chart(intervals: Sequence[Interval], start: int, end: int) -> Chart:
    scale = WIDTH / (end - start)
    pieces = _merge_narrow([(kind_of(each), each.start, each.end) for each in intervals], NARROWEST / scale)
    names = kind_names()
    bars = [
        Bar(
            kind,
            left=round((begin - start) * scale, 2),
            width=round(max((until - begin) * scale, NARROWEST), 2),
            title=f"{names[kind]}: {_time(begin)} – {_time(until)}",
        )
        for kind, begin, until in pieces
    ]
    bars.sort(key=lambda bar: -bar.width)  # the narrow ones are drawn over their neighbours
    form = _tick_form(end - start)
    times = [from_milliseconds(start + (end - start) * step // SECTIONS) for step in range(SECTIONS + 1)]
    ticks = [format_local(at, form) for at in times]
    return Chart(bars, ticks, list(_totals(intervals, end - start)))


def _tick_form(length: int) -> str:
    """Return how the times below a chart are written: as closely as its length asks for."""
    if length < SECTIONS * 60_000:
        return "H:i:s"
    return "H:i" if length <= DAY_AND_A_HALF else "MONTH_DAY_FORMAT" if length < HALF_A_YEAR else "YEAR_MONTH_FORMAT"


def kind_of(interval: Interval) -> str:
    if interval.is_lost:
        return "lost"
    if interval.value is None:
        return "unknown"
    return "open" if interval.value else "closed"


Piece = tuple[str, int, int]


def _merge_narrow(pieces: Iterable[Piece], narrowest: float) -> list[Piece]:
    """Return the pieces with runs of too narrow ones joined: a flapping sensor is one shape, not fifty thousand."""
    merged: list[Piece] = []
    for kind, begin, until in pieces:
        narrow = until - begin < narrowest
        if narrow and merged and (merged[-1][0] == "changing" or merged[-1][2] - merged[-1][1] < narrowest):
            merged[-1] = ("changing", merged[-1][1], until)
        else:
            merged.append((kind, begin, until))
    return merged


def kind_names() -> dict[str, str]:
    return {
        "open": pgettext("door", "open"),
        "closed": pgettext("door", "closed"),
        "lost": gettext("connection lost"),
        "unknown": gettext("unknown"),
        "changing": gettext("changing often"),
    }


def _time(at: int) -> str:
    return format_local(from_milliseconds(at))


def _totals(intervals: Iterable[Interval], length: int) -> Iterator[Total]:
    """Yield the share of the period that each kind takes."""
    sums: dict[str, int] = {}
    for each in intervals:
        sums[kind_of(each)] = sums.get(kind_of(each), 0) + each.end - each.start
    for kind in ("open", "closed", "lost", "unknown"):
        if kind in sums:
            yield Total(kind, kind_names()[kind], 100 * sums[kind] / length)
