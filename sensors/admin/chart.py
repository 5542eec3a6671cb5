"""The chart of a sensor: open and closed over a period, gaps where it was lost. Values for a template, no markup."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.formats import date_format
from django.utils.translation import gettext, pgettext

from config.common.times import from_milliseconds, to_milliseconds
from sensors.history.errors import HistoryAway
from sensors.history.intervals import Interval, read_intervals

PERIODS = {"24h": timedelta(hours=24), "7d": timedelta(days=7), "30d": timedelta(days=30)}
WIDTH = 1000.0
NARROWEST = 0.8
"""What is narrower is drawn together with its neighbours."""
TICKS = {"24h": 6, "7d": 7, "30d": 6}


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
    period: str
    bars: list[Bar]
    ticks: list[str]
    totals: list[Total]


def draw_chart(sensor_id: str, period: str, *, now: datetime) -> Chart | None:
    """Return the chart up to now, or None while history cannot be reached."""
    start, end = to_milliseconds(now - PERIODS[period]), to_milliseconds(now)
    try:
        intervals = read_intervals(sensor_id, start, end)
    except HistoryAway:
        return None
    return make_chart(period, intervals, start, end)


def make_chart(period: str, intervals: Sequence[Interval], start: int, end: int) -> Chart:
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
    count = TICKS[period]
    form = "H:i" if period == "24h" else "MONTH_DAY_FORMAT"
    times = [from_milliseconds(start + (end - start) * step // count) for step in range(count + 1)]
    ticks = [date_format(at, form) for at in times]
    return Chart(period, bars, ticks, list(_totals(intervals, end - start)))


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
        "unknown": gettext("not known"),
        "changing": gettext("changing often"),
    }


def _time(at: int) -> str:
    return date_format(from_milliseconds(at), "DATETIME_FORMAT")


def _totals(intervals: Iterable[Interval], length: int) -> Iterator[Total]:
    """Yield the share of the period that each kind takes."""
    sums: dict[str, int] = {}
    for each in intervals:
        sums[kind_of(each)] = sums.get(kind_of(each), 0) + each.end - each.start
    for kind in ("open", "closed", "lost", "unknown"):
        if kind in sums:
            yield Total(kind, kind_names()[kind], 100 * sums[kind] / length)
