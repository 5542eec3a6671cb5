"""How far history reaches back, and how a long period is read: in growing windows from its newest end.

So a page costs what it holds, not what exists.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import TypeVar

from django.conf import settings

from sensors.history.values import ClientSensors, Period, Sensors
from sensors.ingest.signals import EARLIEST

HOUR = 3_600_000
USUAL_SILENCE = 2 * HOUR
"""A sensor speaks at least that often, as a rule: how far back a page reaches is guessed from it."""
GROWTH = 4
GROWTH_OF_MANY = 16
"""Of a client's many sensors: each window has the engine make a set of them again."""
FEW_SENSORS = 50
"""So many are named to a store; a client that has more is named itself."""

RowT = TypeVar("RowT")


def read_newest(
    read: Callable[[Period, int], list[RowT]], period: Period, *, limit: int, sensors: Sensors, now: int
) -> list[RowT]:
    """Return the newest rows of a period; `read(window, count)` is called for older and older windows."""
    rows: list[RowT] = []
    speaking, growth = (FEW_SENSORS, GROWTH_OF_MANY) if isinstance(sensors, ClientSensors) else (len(sensors), GROWTH)
    first = max(HOUR, USUAL_SILENCE * limit // max(1, speaking))
    for window in windows(period, first=first, now=now, growth=growth):
        rows += read(window, limit - len(rows))
        if len(rows) >= limit:
            break
    return rows


def windows(period: Period, *, first: int, now: int, growth: int = GROWTH) -> Iterator[Period]:
    """Yield windows that make up the period, the newest first, each longer than the one before."""
    end, edge, width = period.end, min(now, period.end or now), first
    while True:
        edge -= width
        if edge <= EARLIEST or (period.start is not None and edge <= period.start):
            yield Period(period.start, end)
            return
        yield Period(edge, end)
        end, width = edge, width * growth


def first_kept(now: datetime) -> datetime | None:
    """Return from when on history is kept, or None where nothing of it expires."""
    months = settings.HISTORY_RETENTION_MONTHS
    return months_back(now, months) if months else None


def months_back(at: datetime, months: int) -> datetime:
    """Return the beginning of the month that is so many months before the month of `at`."""
    years, month = divmod(at.year * 12 + at.month - 1 - months, 12)
    return datetime(max(1, years), month + 1, 1, tzinfo=UTC)
