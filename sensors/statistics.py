"""Totals of the deliveries to clients in a period.

Hours and days that are over are read from their totals (`services/delivery_totals.py`), the rest is counted from the
rows: the first and the last part of the period, and what was attempted or changed since it was counted.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any

from django.conf import settings
from django.db.models import Count, DurationField, F, Q, Sum
from django.utils import timezone

from config.common.database.counted_spans import DAY, Parts, Range, floor_day
from notifications.models import Attempt, Delivery
from notifications.selectors import first_deliveries_since
from sensors.models import COUNTED_DELIVERIES, Client, DeliveryTotal

# Ids rise with the time, but a transaction may take its id long before it commits.
SLACK = timedelta(minutes=1)
DELIVERED = Q(status__gte=200, status__lt=300)
STATUSES = tuple(Delivery.Status.values)
ATTEMPTED = ("attempts", "successes", "waited")
NOTHING: Mapping[str, Any] = {**dict.fromkeys((*STATUSES, *ATTEMPTED), 0), "waited": timedelta()}


def count_by_client(start: datetime, end: datetime) -> list[Mapping[str, Any]]:
    """Count the deliveries to each client that were created in a period, and the outcomes of their attempts."""
    parts = COUNTED_DELIVERIES.find_parts(start, end, rows_since=find_whole_day())
    rows = dict[int, dict[str, Any]]()
    for client, figures in [*_read_totals(parts), *count_rows(parts.ranges)]:
        known = rows.setdefault(client, dict(NOTHING))
        for name, value in figures.items():
            known[name] += value
    names = dict(Client.objects.filter(pk__in=list(rows)).values_list("pk", "name"))
    return [{"id": client, "name": names[client], **_present(row)} for client, row in sorted(rows.items())]


def find_whole_day() -> datetime:
    """Return the first day all of whose deliveries are still kept."""
    return floor_day(timezone.now() - timedelta(days=settings.DELIVERY_DAYS)) + DAY


def count_rows(ranges: Sequence[Range]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield what the rows of these times say of each client, in three queries; a client may come several times.

    Attempts that have expired are not counted.
    """
    if not ranges:
        return
    times = [time for start, end in ranges for time in (_shift(start, -SLACK), _shift(end, SLACK))]
    found = first_deliveries_since(times)
    # The deliveries of a range have ids from the first up to, not including, the second.
    ids = list(zip(found[::2], found[1::2], strict=True))
    messages = Delivery.objects.filter(_within("", ranges, ids), endpoint__client__isnull=False).order_by()
    by_status = {status: Count("pk", filter=Q(status=status)) for status in STATUSES}
    rows: Any = messages.values(key=F("endpoint__client__id")).annotate(**by_status)
    yield from ((row.pop("key"), row) for row in rows)
    tries = Attempt.objects.filter(
        _within("delivery__", ranges, ids),
        delivery__endpoint__client__isnull=False,
        recorded_at__gte=_shift(min(start for start, _ in ranges), -SLACK),  # no partition of an earlier day is read
    )
    waited = Sum(
        F("at") - F("delivery__created_at"), filter=DELIVERED, default=timedelta(), output_field=DurationField()
    )
    rows = tries.order_by().values(key=F("delivery__endpoint__client__id"))
    rows = rows.annotate(attempts=Count("pk"), successes=Count("pk", filter=DELIVERED), waited=waited)
    yield from ((row.pop("key"), row) for row in rows)


def _shift(at: datetime, by: timedelta) -> datetime:
    try:
        return at + by
    except OverflowError:  # the first or the last minute that there is
        return at


def _within(prefix: str, ranges: Sequence[Range], ids: Sequence[tuple[int, int]]) -> Q:
    """Return the condition for deliveries of these times; the ids are named on the own table, whose index has them."""
    own = "delivery_id" if prefix else "pk"
    return reduce(
        or_,
        (
            Q(**{f"{own}__gte": first, f"{own}__lt": behind})
            & Q(**{f"{prefix}created_at__gte": start, f"{prefix}created_at__lt": end})
            for (start, end), (first, behind) in zip(ranges, ids, strict=True)
        ),
    )


def _read_totals(parts: Parts) -> Iterable[tuple[int, dict[str, Any]]]:
    if not parts.spans:
        return
    totals: Any = DeliveryTotal.objects.filter(span__in=list(parts.spans)).order_by().values("client_id")
    for row in totals.annotate(**{f"all_{name}": Sum(name) for name in NOTHING}):
        yield row["client_id"], {name: row[f"all_{name}"] for name in NOTHING}


def _present(row: Mapping[str, Any]) -> dict[str, Any]:
    mean = row["waited"] / row["successes"] if row["successes"] else None
    return {
        "deliveries": sum(row[status] for status in STATUSES),
        **{status: row[status] for status in STATUSES},
        "attempts": row["attempts"],
        "failed_attempts": row["attempts"] - row["successes"],
        "mean_seconds": None if mean is None else round(max(0.0, mean.total_seconds()), 3),
    }
