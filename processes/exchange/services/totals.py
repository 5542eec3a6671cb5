"""Count the hours and days of the exchange that are over, so that statistics need not read every message.

What is counted may still change: a message is requeued, a reply withdrawn, a lost file found.
"""

from collections import defaultdict
from typing import Any

from django.db import connection

from config.common.database.counted_spans import LENGTHS, Length
from messaging.models import Message
from processes.exchange.models import COUNTED, CountedSpan, SpanTotal
from processes.exchange.statistics import NOTHING, PARTIES, By, count_rows


def count_finished_spans() -> None:
    """Count what is over and not counted, count again what was touched, delete what is no longer read."""
    if connection.vendor == "postgresql":
        first = Message.objects.order_by("accepted_at").values_list("accepted_at", flat=True).first()
        COUNTED.count_finished(first, _write_span)


def _write_span(span: CountedSpan) -> None:
    """Write the totals of a span in the place of those it may have."""
    span.totals.all().delete()
    for by in PARTIES:
        _write_totals(span, by)


def _write_totals(span: CountedSpan, by: By) -> None:
    parties = defaultdict[str, dict[str, Any]](lambda: dict(NOTHING))
    for party, figures in count_rows(by, [(span.at, span.at + LENGTHS[Length(span.length)])]):
        parties[party].update(figures)
    rows = [SpanTotal(span=span, by=by, party=party, **figures) for party, figures in parties.items()]
    SpanTotal.objects.bulk_create(rows, batch_size=1000)
