"""What expires: rejected signals after `REJECTED_DAYS`, history after `HISTORY_RETENTION_MONTHS`."""

from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone

from config.common.database.partitions import drop_days_before, ensure_partitions
from config.common.times import to_milliseconds
from sensors.history.store import get_store
from sensors.models import RejectedSignal


def expire_rejected_signals() -> None:
    """Create the partitions of the coming days and delete what was rejected more than `REJECTED_DAYS` ago."""
    now = timezone.now()
    ensure_partitions(RejectedSignal, today=now.date())
    oldest = now - timedelta(days=settings.REJECTED_DAYS)
    if connection.vendor == "postgresql":
        drop_days_before(RejectedSignal, day=oldest.date(), may_go=lambda partition: True)
    else:
        RejectedSignal.objects.filter(recorded_at__lt=oldest).delete()


def expire_history() -> None:
    """Drop the months of history that are older than the setting; with 0 nothing expires."""
    if settings.HISTORY_RETENTION_MONTHS:
        first_kept = months_back(timezone.now(), settings.HISTORY_RETENTION_MONTHS)
        get_store().drop_months_before(to_milliseconds(first_kept))


def months_back(at: datetime, months: int) -> datetime:
    """Return the beginning of the month that is so many months before the month of `at`."""
    years, month = divmod(at.year * 12 + at.month - 1 - months, 12)
    return datetime(max(1, years), month + 1, 1, tzinfo=UTC)
