"""The chart of the load to come: how many sessions are due in each stretch. Shapes for a template, no markup."""

from dataclasses import dataclass

from django.utils.formats import date_format
from django.utils.timezone import localtime
from django.utils.translation import gettext

from notifications.admin.presentation import count_words
from notifications.sessions.backlog import MOST_COUNTED, Backlog, Stretch

WIDTH, HEIGHT = 1000.0, 120.0
GAP = 0.2
"""The share of a stretch that stays empty."""
LEAST_HEIGHT = 2.0
"""One session beside thousands is still to be seen."""
TICKS = 6


@dataclass(frozen=True)
class Bar:
    left: float
    top: float
    width: float
    height: float
    period: str
    """Such as 14:15–14:30."""
    count: str


@dataclass(frozen=True)
class LoadChart:
    bars: list[Bar]
    """Of the stretches in which anything is due."""
    ticks: list[str]
    highest: str
    """What the full height stands for."""
    summary: str
    """The chart in words, for those who do not see it."""
    overdue: str
    soon: str
    later: str
    exhausted: str
    has_overdue: bool
    has_exhausted: bool


def draw_load(load: Backlog) -> LoadChart:
    highest = max(stretch.count for stretch in load.stretches)
    soon = sum(stretch.count for stretch in load.stretches)
    is_cut = highest >= MOST_COUNTED
    return LoadChart(
        bars=[_bar(place, each, load, highest) for place, each in enumerate(load.stretches) if each.count],
        ticks=_ticks(load),
        highest=_count(highest),
        summary=_summary(load, highest),
        overdue=_count(load.overdue),
        soon=count_words(soon, soon if is_cut else soon + 1),
        later=_count(load.later),
        exhausted=_count(load.exhausted),
        has_overdue=load.overdue > 0,
        has_exhausted=load.exhausted > 0,
    )


def _bar(place: int, stretch: Stretch, load: Backlog, highest: int) -> Bar:
    width = WIDTH / len(load.stretches)
    height = max(LEAST_HEIGHT, HEIGHT * stretch.count / highest)
    return Bar(
        left=round(width * (place + GAP / 2), 2),
        top=round(HEIGHT - height, 2),
        width=round(width * (1 - GAP), 2),
        height=round(height, 2),
        period=_period(stretch),
        count=_count(stretch.count),
    )


def _ticks(load: Backlog) -> list[str]:
    start, end = load.stretches[0].starts_at, load.stretches[-1].ends_at
    return [date_format(localtime(start + (end - start) * step / TICKS), "H:i") for step in range(TICKS + 1)]


def _summary(load: Backlog, highest: int) -> str:
    if not highest:
        return gettext("Nothing is due in the next hours.")
    peak = next(each for each in load.stretches if each.count == highest)
    words = gettext("Sessions due in the next hours. The most: %(count)s, %(period)s.")
    return words % {"count": _count(highest), "period": _period(peak)}


def _period(stretch: Stretch) -> str:
    ends = (stretch.starts_at, stretch.ends_at)
    return "–".join(date_format(localtime(moment), "H:i") for moment in ends)


def _count(number: int) -> str:
    return count_words(number, MOST_COUNTED)
