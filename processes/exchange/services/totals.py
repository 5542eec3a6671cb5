"""Count the hours and days of the exchange that are over, so that statistics need not read every message.

What is counted may still change: a message is requeued, a reply withdrawn, a lost file found. Triggers write the hours
of such changes (`TouchedHour`) in the transaction of the change; until they are counted again here, statistics read
them from the rows. So statistics are right whenever this runs, and also if it never does.
"""

from collections import defaultdict
from datetime import datetime, timedelta
from itertools import count, takewhile
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from config.common.database.sql import in_number_array
from messaging.models import Message
from processes.exchange.models import CountedSpan, SpanTotal, TouchedHour
from processes.exchange.spans import DAY, HOURS_READ, LENGTHS, floor_day, floor_hour
from processes.exchange.statistics import NOTHING, PARTIES, By, count_rows

COUNTED_AFTER = timedelta(hours=1)
"""So long after its end an hour is counted. A change of a row that is half an hour old leaves a mark: a transaction
would have to last for half an hour to escape both."""
HOURS_KEPT = HOURS_READ + DAY
DAYS_KEPT = timedelta(days=400)
"""A year of statistics, and some days."""
MOST_MARKS = 10_000

Length = CountedSpan.Length


def count_finished_spans() -> None:
    """Count what is over and not counted, count again what was touched, delete what is no longer read."""
    if connection.vendor != "postgresql":
        return
    now = timezone.now()
    while _recount_touched():
        pass
    first = Message.objects.order_by("accepted_at").values_list("accepted_at", flat=True).first()
    if first is None:
        return
    over = now - COUNTED_AFTER
    for length, oldest in ((Length.HOUR, now - HOURS_READ), (Length.DAY, now - DAYS_KEPT)):
        for at in _missing(length, max(first, oldest), over):
            with transaction.atomic():
                _lock()
                _write_span(length, at)
    CountedSpan.objects.filter(length=Length.HOUR, at__lt=now - HOURS_KEPT).delete()
    CountedSpan.objects.filter(at__lt=floor_day(now - DAYS_KEPT)).delete()


def _missing(length: CountedSpan.Length, since: datetime, until: datetime) -> list[datetime]:
    """Return the whole spans of a time that are not counted."""
    step = LENGTHS[length]
    begin = floor_day(since) if length == Length.DAY else floor_hour(since)
    there = set(CountedSpan.objects.filter(length=length, at__gte=begin).values_list("at", flat=True))
    starts = takewhile(lambda at: at + step <= until, (begin + step * number for number in count()))
    return [at for at in starts if at not in there]


def _recount_touched() -> bool:
    """Count the touched spans of a day anew; return whether there is another."""
    with transaction.atomic():
        _lock()
        # The marks are read before the rows: a change that is committed in between leaves its mark for the next time.
        marks = list(TouchedHour.objects.order_by("at").values_list("at", "pk")[:MOST_MARKS])
        by_day = defaultdict[datetime, list[tuple[datetime, int]]](list)
        for at, pk in marks:
            by_day[floor_day(at)].append((at, pk))
        for day, touched in by_day.items():
            starts = [(Length.DAY, day), *((Length.HOUR, at) for at in sorted({at for at, _ in touched}))]
            for length, at in starts:
                if CountedSpan.objects.filter(length=length, at=at).exists():
                    _write_span(length, at)
        TouchedHour.objects.filter(pk__in=in_number_array([pk for _, pk in marks])).delete()
    return len(marks) == MOST_MARKS


def _lock() -> None:
    """Let one count at a time: of two the one with the older look at the rows could write last. Readers do not wait."""
    with connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {CountedSpan._meta.db_table} IN SHARE ROW EXCLUSIVE MODE")


def _write_span(length: CountedSpan.Length, at: datetime) -> None:
    """Write the totals of a span in the place of those it may have."""
    span, _ = CountedSpan.objects.get_or_create(length=length, at=at)
    span.totals.all().delete()
    for by in PARTIES:
        _write_totals(span, by)


def _write_totals(span: CountedSpan, by: By) -> None:
    parties = defaultdict[str, dict[str, Any]](lambda: dict(NOTHING))
    for party, figures in count_rows(by, [(span.at, span.at + LENGTHS[Length(span.length)])]):
        parties[party].update(figures)
    rows = [SpanTotal(span=span, by=by, party=party, **figures) for party, figures in parties.items()]
    SpanTotal.objects.bulk_create(rows, batch_size=1000)
