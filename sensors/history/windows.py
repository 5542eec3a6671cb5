"""Read a long period in growing windows from its newest end, so that a page costs what it holds, not what exists."""

from collections.abc import Callable, Iterator
from typing import TypeVar

from sensors.history.values import Period
from sensors.ingest.signals import EARLIEST

HOUR = 3_600_000
USUAL_SILENCE = 2 * HOUR
"""A sensor speaks at least that often, as a rule: how far back a page reaches is guessed from it."""
GROWTH = 4

RowT = TypeVar("RowT")


def read_newest(
    read: Callable[[Period, int], list[RowT]], period: Period, *, limit: int, sensors: int, now: int
) -> list[RowT]:
    """Return the newest rows of a period; `read(window, count)` is called for older and older windows."""
    rows: list[RowT] = []
    first = max(HOUR, USUAL_SILENCE * limit // max(1, sensors))
    for window in windows(period, first=first, now=now):
        rows += read(window, limit - len(rows))
        if len(rows) >= limit:
            break
    return rows


def windows(period: Period, *, first: int, now: int) -> Iterator[Period]:
    """Yield windows that make up the period, the newest first, each longer than the one before."""
    end, edge, width = period.end, min(now, period.end or now), first
    while True:
        edge -= width
        if edge <= EARLIEST or (period.start is not None and edge <= period.start):
            yield Period(period.start, end)
            return
        yield Period(edge, end)
        end, width = edge, width * GROWTH
