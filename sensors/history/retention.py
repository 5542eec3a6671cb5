"""Forget what is older than `HISTORY_RETENTION_MONTHS`."""

from datetime import UTC, datetime

from django.conf import settings
from django.utils import timezone

from sensors.history.store import get_store
from sensors.ingest.signals import to_milliseconds


def expire_history() -> None:
    """Drop the months that lie further back than the setting; 0 keeps everything."""
    if settings.HISTORY_RETENTION_MONTHS:
        first_kept = months_back(timezone.now(), settings.HISTORY_RETENTION_MONTHS)
        get_store().drop_months_before(to_milliseconds(first_kept))


def months_back(at: datetime, months: int) -> datetime:
    """Return the beginning of the month that lies so many months before the one of `at`."""
    years, month = divmod(at.year * 12 + at.month - 1 - months, 12)
    return datetime(max(1, years), month + 1, 1, tzinfo=UTC)
