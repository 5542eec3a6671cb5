"""The chart of the backlog: how many sessions are due in each stretch of time. Shapes for a template, no markup."""

from dataclasses import dataclass

from django.utils.translation import gettext

from config.admin_base.times import format_local
from notifications.admin.presentation import count_words
from notifications.sessions.backlog import MOST_COUNTED, Backlog, Stretch

WIDTH, HEIGHT = 1000.0, 120.0
GAP = 0.2
"""The share of a stretch that is left empty."""
LEAST_HEIGHT = 2.0
"""One session beside thousands is still visible."""
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
class BacklogChart:
    bars: list[Bar]
    """One for each stretch in which anything is due."""
    ticks: list[str]
    highest: str
    """The count of the full height."""
    summary: str
    """The chart in words, for those who do not see it."""
    overdue: str
    soon: str
    later: str
    exhausted: str
    has_overdue: bool
    has_exhausted: bool


def draw_backlog(backlog: Backlog) -> BacklogChart:
    highest = max(stretch.count for stretch in backlog.stretches)
    soon = sum(stretch.count for stretch in backlog.stretches)
    is_cut = highest >= MOST_COUNTED
    start, end = backlog.stretches[0].starts_at, backlog.stretches[-1].ends_at
    return BacklogChart(
        bars=[_bar(place, each, backlog, highest) for place, each in enumerate(backlog.stretches) if each.count],
        ticks=[format_local(start + (end - start) * step / TICKS, "H:i") for step in range(TICKS + 1)],
        highest=_count(highest),
        summary=_summary(backlog, highest),
        overdue=_count(backlog.overdue),
        soon=count_words(soon, soon if is_cut else soon + 1),
        later=_count(backlog.later),
        exhausted=_count(backlog.exhausted),
        has_overdue=backlog.overdue > 0,
        has_exhausted=backlog.exhausted > 0,
    )


def _bar(place: int, stretch: Stretch, backlog: Backlog, highest: int) -> Bar:
    width = WIDTH / len(backlog.stretches)
    height = max(LEAST_HEIGHT, HEIGHT * stretch.count / highest)
    return Bar(
        left=round(width * (place + GAP / 2), 2),
        top=round(HEIGHT - height, 2),
        width=round(width * (1 - GAP), 2),
        height=round(height, 2),
        period=_period(stretch),
        count=_count(stretch.count),
    )


def _summary(backlog: Backlog, highest: int) -> str:
    if not highest:
        return gettext("Nothing is due in the next few hours.")
    peak = next(each for each in backlog.stretches if each.count == highest)
    words = gettext("Sessions due in the next few hours. Peak: %(count)s, %(period)s.")
    return words % {"count": _count(highest), "period": _period(peak)}


def _period(stretch: Stretch) -> str:
    ends = (stretch.starts_at, stretch.ends_at)
    return "–".join(format_local(time, "H:i") for time in ends)


def _count(number: int) -> str:
    return count_words(number, MOST_COUNTED)
