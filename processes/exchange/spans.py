"""A period in parts: the hours and days whose totals are counted, and the times in between."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from django.db import connection
from django.utils import timezone

from processes.exchange.models import CountedSpan, TouchedHour

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
LENGTHS = {CountedSpan.Length.HOUR: HOUR, CountedSpan.Length.DAY: DAY}
HOURS_READ = timedelta(days=8)
"""Totals of older hours are not read: the upkeep deletes them a day later, when their days are counted."""

Range: TypeAlias = tuple[datetime, datetime]


@dataclass(frozen=True)
class Parts:
    spans: Mapping[int, datetime]
    """The counted spans by id, each with its beginning."""
    ranges: Sequence[Range]
    """What is left, to be counted from the rows."""


def find_parts(start: datetime, end: datetime, bounds: Sequence[datetime] = ()) -> Parts:
    """Cut a period; no counted span lies across one of the bounds."""
    if connection.vendor != "postgresql" or end - start < HOUR:
        return Parts({}, [(start, end)] if start < end else [])
    # The touched hours first: one that is counted again meanwhile has its new totals.
    touched = set(TouchedHour.objects.filter(at__gte=start, at__lt=end).values_list("at", flat=True).distinct())
    found = CountedSpan.objects.filter(at__gte=start, at__lt=end).values_list("at", "length", "pk")
    hours_since = timezone.now() - HOURS_READ
    spans, ranges, at = dict[int, datetime](), list[Range](), start
    # Of two that begin together the day comes first.
    for begin, length, pk in sorted(found):
        over = begin + LENGTHS[CountedSpan.Length(length)]
        is_old = length == CountedSpan.Length.HOUR and begin < hours_since
        is_cut = any(begin < bound < over for bound in bounds)
        if begin < at or over > end or is_old or is_cut or any(begin <= hour < over for hour in touched):
            continue
        if at < begin:
            ranges.append((at, begin))
        spans[pk], at = begin, over
    if at < end:
        ranges.append((at, end))
    return Parts(spans, ranges)


def floor_hour(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def floor_day(at: datetime) -> datetime:
    return floor_hour(at).replace(hour=0)
