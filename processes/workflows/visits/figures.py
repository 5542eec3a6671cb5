"""The figures of a revision in a period: how often elements were entered, how long stays were, what stands there.

Read from totals, so they cost the same however many instances there were.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from django.db.models import Q, Sum

from processes.workflows.models import VisitTotal, WorkflowRevision
from processes.workflows.models.visits import ENTERED, EVER, STANDING
from processes.workflows.visits.bands import estimate_median


class Period(StrEnum):
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"
    ALL = "all"


@dataclass(frozen=True)
class ElementFigures:
    entered: int = 0
    stays: int = 0
    """How many have left."""
    mean: float | None = None
    median: float | None = None
    """Seconds; None where nothing has left."""
    standing: int = 0
    """How many stand there now, whatever the period."""


NOTHING = ElementFigures()


@dataclass(frozen=True)
class RevisionFigures:
    period: Period
    since: datetime | None
    """When the period begins, or the counting if that is later; None: nothing has been counted."""
    elements: Mapping[str, ElementFigures] = field(default_factory=dict)
    """By id; an element of which nothing is known is not there."""


def read_figures(revision: WorkflowRevision, period: Period, *, now: datetime) -> RevisionFigures:
    """Return the figures of a revision, from one query."""
    if revision.counted_from is None:
        return RevisionFigures(period, None)
    span, begin = _SPANS[period](now)
    wanted = Q(span=span, at__gte=begin)
    if span != VisitTotal.Span.EVER:
        wanted = (wanted & ~Q(band=STANDING)) | Q(span=VisitTotal.Span.EVER, at=EVER, band=STANDING)
    rows = VisitTotal.objects.filter(wanted, revision=revision).order_by().values_list("element", "band")
    found: defaultdict[str, dict[int, tuple[int, float]]] = defaultdict(dict)
    for element, band, count, seconds in rows.annotate(Sum("count"), Sum("seconds")):
        found[element][band] = (count, seconds)
    elements = {element: _build_figures(bands) for element, bands in sorted(found.items())}
    return RevisionFigures(
        period,
        max(begin, revision.counted_from, revision.created_at),
        {element: figures for element, figures in elements.items() if figures != NOTHING},
    )


def _build_figures(bands: dict[int, tuple[int, float]]) -> ElementFigures:
    entered, standing = bands.pop(ENTERED, (0, 0.0))[0], bands.pop(STANDING, (0, 0.0))[0]
    stays, seconds = (sum(figures[place] for figures in bands.values()) for place in (0, 1))
    return ElementFigures(
        entered=entered,
        stays=int(stays),
        mean=seconds / stays if stays else None,
        median=estimate_median(bands),
        standing=max(0, standing),
    )


_SPANS: dict[Period, Callable[[datetime], tuple[VisitTotal.Span, datetime]]] = {
    # The hour and the day that have just begun count as one of them.
    Period.DAY: lambda now: (VisitTotal.Span.HOUR, _floor_hour(now) - timedelta(hours=23)),
    Period.WEEK: lambda now: (VisitTotal.Span.DAY, _floor_hour(now).replace(hour=0) - timedelta(days=6)),
    Period.MONTH: lambda now: (VisitTotal.Span.DAY, _floor_hour(now).replace(hour=0) - timedelta(days=29)),
    Period.ALL: lambda now: (VisitTotal.Span.EVER, EVER),
}


def _floor_hour(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
