"""How many sessions are to be repeated, and when: counts whose cost is bounded, however many sessions there are."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec
from django.db import connection
from django.db.models import OuterRef

from config.common.database.sql import CountUpTo, load_engine_sql
from notifications.models import RepeatSession, Theme

HORIZON = timedelta(hours=6)
STRETCHES = 24
MOST_COUNTED = 2_000
"""Each count ends here: a page about a million sessions must cost what one about a thousand does."""

_EVER = (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))


@dataclass(frozen=True)
class Stretch:
    starts_at: datetime
    ends_at: datetime
    count: int


@dataclass(frozen=True)
class Backlog:
    """The sessions to be repeated; a count of `MOST_COUNTED` means that many or more."""

    overdue: int
    stretches: list[Stretch]
    later: int
    exhausted: int


def read_backlog(now: datetime) -> Backlog:
    """Count the saved sessions by the time they are due, and the exhausted ones."""
    marks = _marks(now, now + HORIZON, STRETCHES)
    overdue, *counts, later = _count([_EVER[0], *marks, _EVER[1]])
    ends = zip(marks[:-1], marks[1:], counts, strict=True)
    return Backlog(overdue, [Stretch(*each) for each in ends], later, count_exhausted())


def count_stretches(begin: datetime, end: datetime, stretches: int) -> list[Stretch]:
    """Count the saved sessions that are due in each of so many equal stretches of a time."""
    marks = _marks(begin, end, stretches)
    return [Stretch(*each) for each in zip(marks[:-1], marks[1:], _count(marks), strict=True)]


def count_exhausted() -> int:
    waiting = RepeatSession.objects.filter(status=RepeatSession.Status.EXHAUSTED)
    return waiting.order_by()[:MOST_COUNTED].count()


def count_by_theme(numbers: Collection[int]) -> dict[int, dict[str, int]]:
    """Count the sessions of themes by status, in one query; each count ends at `MOST_COUNTED`."""
    themes = Theme.objects.filter(pk__in=numbers)
    sessions = RepeatSession.objects.filter(theme=OuterRef("pk")).order_by()
    counts = {
        status: CountUpTo(sessions.filter(status=status).values("pk")[:MOST_COUNTED])
        for status in RepeatSession.Status.values
    }
    counted = themes.annotate(**counts)
    return {row.pop("pk"): row for row in counted.values("pk", *RepeatSession.Status.values)}


def _marks(begin: datetime, end: datetime, stretches: int) -> list[datetime]:
    return [begin + (end - begin) * place / stretches for place in range(stretches + 1)]


def _count(marks: Sequence[datetime]) -> list[int]:
    """Count from each mark to the next, in one statement; each count reads a range of the index `session_to_repeat`."""
    starts, ends = marks[:-1], marks[1:]
    with connection.cursor() as cursor:
        statement = load_engine_sql("notifications", "count_due_sessions")
        if connection.vendor == "postgresql":
            cursor.execute(statement, [list(starts), list(ends), MOST_COUNTED])
        else:
            cursor.execute(statement, [MOST_COUNTED, _texts(starts), _texts(ends)])
        return [number for (number,) in cursor.fetchall()]


def _texts(times: Sequence[datetime]) -> str:
    """Return a JSON list of times as SQLite stores them."""
    return msgspec.json.encode([str(connection.ops.adapt_datetimefield_value(each)) for each in times]).decode()
