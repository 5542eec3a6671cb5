"""Totals of the deliveries to clients in a period."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Avg, Count, F, Q, QuerySet

from notifications.models import Attempt, Delivery
from notifications.selectors import first_delivery_since

# Ids rise with the time, but a transaction may take its id long before it commits.
SLACK = timedelta(minutes=1)
DELIVERED = Q(status__gte=200, status__lt=300)
NO_ATTEMPTS: Mapping[str, Any] = {"attempts": 0, "failed_attempts": 0, "mean_seconds": None}


def count_by_client(start: datetime, end: datetime) -> list[Mapping[str, Any]]:
    """Count the deliveries to each client that were created in a period, and the outcomes of their attempts.

    Attempts that have expired are not counted.
    """
    early, late = _shift(start, -SLACK), _shift(end, SLACK)
    first, behind = first_delivery_since(early), first_delivery_since(late)
    created = {"created_at__gte": start, "created_at__lt": end}
    messages = Delivery.objects.filter(pk__gte=first, pk__lt=behind, endpoint__client__isnull=False, **created)
    attempts = Attempt.objects.filter(
        delivery_id__gte=first,
        delivery_id__lt=behind,
        delivery__endpoint__client__isnull=False,
        recorded_at__gte=early,  # so that no partition of an earlier day is read
        **{f"delivery__{name}": bound for name, bound in created.items()},
    )
    tries = _count_attempts(attempts)
    return [{**row, **tries.get(row["id"], NO_ATTEMPTS)} for row in _count_messages(messages)]


def _shift(at: datetime, by: timedelta) -> datetime:
    try:
        return at + by
    except OverflowError:  # the first or the last minute that there is
        return at


def _count_messages(messages: QuerySet[Delivery]) -> list[dict[str, Any]]:
    by_status = {status: Count("pk", filter=Q(status=status)) for status in Delivery.Status.values}
    client = {"client_id": F("endpoint__client__id"), "client_name": F("endpoint__client__name")}
    rows: Any = messages.order_by().values(**client).annotate(deliveries=Count("pk"), **by_status)
    return [{"id": row.pop("client_id"), "name": row.pop("client_name"), **row} for row in rows]


def _count_attempts(attempts: QuerySet[Attempt]) -> dict[int, dict[str, Any]]:
    rows = attempts.order_by().values(client_id=F("delivery__endpoint__client__id"))
    counted = rows.annotate(
        attempts=Count("pk"),
        successes=Count("pk", filter=DELIVERED),
        mean=Avg(F("at") - F("delivery__created_at"), filter=DELIVERED),
    )
    return {row["client_id"]: _present(row) for row in counted}


def _present(row: Mapping[str, Any]) -> dict[str, Any]:
    mean = row["mean"]
    return {
        "attempts": row["attempts"],
        "failed_attempts": row["attempts"] - row["successes"],
        "mean_seconds": None if mean is None else round(max(0.0, mean.total_seconds()), 3),
    }
