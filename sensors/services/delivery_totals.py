"""Count the deliveries of hours and days that are over, so that statistics by client need not read every one.

What is counted may still change: a message waits for its client, is resent, is attempted again.
"""

from collections import defaultdict
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.utils import timezone

from config.common.database.counted_spans import LENGTHS, Length
from notifications.models import Delivery
from sensors.models import COUNTED_DELIVERIES, DeliverySpan, DeliveryTotal
from sensors.statistics import ATTEMPTED, NOTHING, count_rows, find_whole_day


def count_finished_deliveries() -> None:
    """Count what is over and not counted, count again what was touched, delete what is no longer read."""
    if connection.vendor == "postgresql":
        first = Delivery.objects.order_by("pk").values_list("created_at", flat=True).first()
        COUNTED_DELIVERIES.count_finished(first, _write_span, rows_since=find_whole_day())


def _write_span(span: DeliverySpan) -> None:
    """Write the totals of a span in the place of those it may have."""
    clients = defaultdict[int, dict[str, Any]](lambda: dict(NOTHING))
    for client, figures in count_rows([(span.at, span.at + LENGTHS[Length(span.length)])]):
        clients[client].update(figures)
    if span.at < timezone.now() - timedelta(days=settings.ATTEMPT_DAYS):
        # Attempts that have expired meanwhile stay counted.
        for known in span.totals.filter(attempts__gt=0):
            if known.attempts > clients[known.client_id]["attempts"]:
                clients[known.client_id].update({name: getattr(known, name) for name in ATTEMPTED})
    span.totals.all().delete()
    rows = [DeliveryTotal(span=span, client_id=client, **figures) for client, figures in clients.items()]
    DeliveryTotal.objects.bulk_create(rows, batch_size=1000)
