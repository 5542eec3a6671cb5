"""What the hourly and daily upkeep deletes of the shared tables."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from config.records.idempotency import KEPT_FOR
from config.records.models import IdempotencyRecord, LogEntry, SignInAttempt

BATCH = 1000


def forget_old_answers() -> int:
    """Delete answers that are no longer repeated and counts of failed sign-ins that are over; return how many."""
    now = timezone.now()
    answers = IdempotencyRecord.objects.filter(created_at__lt=now - KEPT_FOR)
    windows = SignInAttempt.objects.filter(window_ends_at__lte=now)
    return _delete_in_batches(answers) + _delete_in_batches(windows)


def forget_old_log() -> None:
    """Delete entries of the log older than `RETENTION_DAYS`; those of exchange processes stay with their processes."""
    oldest = timezone.now() - timedelta(days=settings.RETENTION_DAYS)
    _delete_in_batches(LogEntry.objects.exclude(kind=LogEntry.Kind.EXCHANGE).filter(at__lt=oldest), order="at")


def _delete_in_batches(rows: "QuerySet[Any]", order: str = "pk") -> int:
    """Delete in short transactions, so that nobody waits for a large one."""
    total = 0
    while True:
        chosen = list(rows.order_by(order).values_list("pk", flat=True)[:BATCH])
        # The condition once more: what has been taken up again since it was chosen stays.
        deleted, _ = rows.filter(pk__in=chosen).delete()
        total += deleted
        if len(chosen) < BATCH:
            return total
