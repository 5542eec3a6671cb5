"""Keep the list of rejected signals in its bounds."""

from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone

from config.common.database.partitions import drop_days_before, ensure_partitions
from sensors.models import RejectedSignal


def expire_rejected_signals() -> None:
    """Make the coming days' partitions and forget what was rejected more than `REJECTED_DAYS` ago."""
    now = timezone.now()
    ensure_partitions(RejectedSignal, today=now.date())
    oldest = now - timedelta(days=settings.REJECTED_DAYS)
    if connection.vendor == "postgresql":
        drop_days_before(RejectedSignal, day=oldest.date(), may_go=lambda partition: True)
    else:
        RejectedSignal.objects.filter(recorded_at__lt=oldest).delete()
