"""Totals of the hours and days (UTC) that are over, so that statistics need not read every row.

What is counted may still change. Triggers write the hours of such changes in the transaction of the change; until they
are counted again, statistics read those hours from the rows. So statistics are right whenever the upkeep runs, and also
if it never does. Each app has tables of its own for its spans, their totals and the touched hours.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count, takewhile
from typing import Any, TypeAlias

from django.db import connection, models, transaction
from django.utils import timezone

from config.common.database.sql import in_number_array

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
COUNTED_AFTER = timedelta(hours=1)
"""So long after its end an hour is counted. A change of a row that is half an hour old leaves a mark: a transaction
would have to last for half an hour to escape both."""
HOURS_READ = timedelta(days=8)
"""Totals of older hours are not read: the upkeep deletes them a day later, when their days are counted."""
HOURS_KEPT = HOURS_READ + DAY
DAYS_KEPT = timedelta(days=400)
"""A year of statistics, and some days."""
MOST_MARKS = 10_000

Range: TypeAlias = tuple[datetime, datetime]


class Length(models.TextChoices):
    HOUR = "hour"
    DAY = "day"


LENGTHS = {Length.HOUR: HOUR, Length.DAY: DAY}


@dataclass(frozen=True)
class Parts:
    """A period in parts."""

    spans: Mapping[int, datetime]
    """The counted spans by id, each with its beginning."""
    ranges: Sequence[Range]
    """What is left, to be counted from the rows."""


@dataclass(frozen=True)
class CountedTables:
    """The tables of one app."""

    spans: type[models.Model]
    """With `length` and `at`."""
    touched: type[models.Model]
    """With `at`, an hour in which a row was changed after the hour was over."""

    def find_parts(
        self, start: datetime, end: datetime, bounds: Sequence[datetime] = (), *, rows_since: datetime | None = None
    ) -> Parts:
        """Cut a period; no counted span lies across one of the bounds.

        Where rows expire, those before the day `rows_since` are no longer whole, and what was counted of them stands.
        """
        if connection.vendor != "postgresql" or end - start < HOUR:
            return Parts({}, [(start, end)] if start < end else [])
        # The touched hours first: one that is counted again meanwhile has its new totals.
        since = start if rows_since is None else max(start, rows_since)
        marks = self.touched._default_manager.filter(at__gte=since, at__lt=end)
        touched = set(marks.values_list("at", flat=True).distinct())
        found = self.spans._default_manager.filter(at__gte=start, at__lt=end).values_list("at", "length", "pk")
        hours_since = timezone.now() - HOURS_READ
        spans, ranges, at = dict[int, datetime](), list[Range](), start
        # Of two that begin together the day comes first.
        for begin, length, pk in sorted(found):
            over = begin + LENGTHS[Length(length)]
            is_old = length == Length.HOUR and begin < hours_since
            is_cut = any(begin < bound < over for bound in bounds)
            if begin < at or over > end or is_old or is_cut or any(begin <= hour < over for hour in touched):
                continue
            if at < begin:
                ranges.append((at, begin))
            spans[pk], at = begin, over
        if at < end:
            ranges.append((at, end))
        return Parts(spans, ranges)

    def count_finished(
        self, first: datetime | None, write: Callable[[Any], None], *, rows_since: datetime | None = None
    ) -> None:
        """Count what is over and not counted, count again what was touched, delete what is no longer read.

        `first` is the time of the oldest row; `write` writes the totals of a span in the place of those it may have.
        """
        now = timezone.now()
        while self._recount_touched(write, rows_since):
            pass
        if first is None:
            return
        over = now - COUNTED_AFTER
        for length, oldest in ((Length.HOUR, now - HOURS_READ), (Length.DAY, now - DAYS_KEPT)):
            for at in self._missing(length, max(first, oldest), over):
                with transaction.atomic():
                    self._lock()
                    write(self.spans._default_manager.get_or_create(length=length, at=at)[0])
        self.spans._default_manager.filter(length=Length.HOUR, at__lt=now - HOURS_KEPT).delete()
        self.spans._default_manager.filter(at__lt=floor_day(now - DAYS_KEPT)).delete()

    def _missing(self, length: Length, since: datetime, until: datetime) -> list[datetime]:
        """Return the whole spans of a time that are not counted."""
        step = LENGTHS[length]
        begin = floor_day(since) if length == Length.DAY else floor_hour(since)
        counted = self.spans._default_manager.filter(length=length, at__gte=begin)
        there = set(counted.values_list("at", flat=True))
        starts = takewhile(lambda at: at + step <= until, (begin + step * number for number in count()))
        return [at for at in starts if at not in there]

    def _recount_touched(self, write: Callable[[Any], None], rows_since: datetime | None) -> bool:
        """Count the touched spans of some marks anew; return whether there may be more."""
        with transaction.atomic():
            self._lock()
            # The marks are read before the rows: a change that is committed in between leaves its mark for later.
            found = self.touched._default_manager.order_by("at").values_list("at", "pk")
            marks = list(found[:MOST_MARKS])
            hours = defaultdict[datetime, set[datetime]](set)
            for at, _ in marks:
                if rows_since is None or at >= rows_since:
                    hours[floor_day(at)].add(at)
            for day, touched in hours.items():
                starts = [(Length.DAY, day), *((Length.HOUR, at) for at in sorted(touched))]
                for length, at in starts:
                    for span in self.spans._default_manager.filter(length=length, at=at):
                        write(span)
            self.touched._default_manager.filter(pk__in=in_number_array([pk for _, pk in marks])).delete()
        return len(marks) == MOST_MARKS

    def _lock(self) -> None:
        """Let one count at a time: of two the one with the older look at the rows could write last. Readers go on."""
        with connection.cursor() as cursor:
            cursor.execute(f"LOCK TABLE {self.spans._meta.db_table} IN SHARE ROW EXCLUSIVE MODE")


def floor_hour(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def floor_day(at: datetime) -> datetime:
    return floor_hour(at).replace(hour=0)
