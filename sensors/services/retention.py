"""What expires: rejected and repeated signals, records of links and history, each after its setting's time."""

from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone

from config.common.database.batches import delete_in_batches
from config.common.database.partitions import drop_days_before, ensure_partitions
from config.common.times import to_milliseconds
from sensors.history.store import get_store
from sensors.history.windows import first_kept
from sensors.models import LinkRecord, RejectedSignal, RepeatedSignal


def expire_rejected_signals() -> None:
    """Create the partitions of the coming days; delete what was rejected or repeated more than `REJECTED_DAYS` ago."""
    now = timezone.now()
    ensure_partitions(RejectedSignal, today=now.date())
    oldest = now - timedelta(days=settings.REJECTED_DAYS)
    if connection.vendor == "postgresql":
        drop_days_before(RejectedSignal, day=oldest.date(), may_go=lambda partition: True)
    else:
        RejectedSignal.objects.filter(recorded_at__lt=oldest).delete()
    delete_in_batches(RepeatedSignal.objects.filter(recorded_at__lt=oldest), order="recorded_at")


def expire_link_records() -> None:
    """Delete the records of links that are older than the change log (`CHANGE_DAYS`)."""
    oldest = timezone.now() - timedelta(days=settings.CHANGE_DAYS)
    delete_in_batches(LinkRecord.objects.filter(at__lt=oldest), order="at")


def expire_history() -> None:
    """Drop the months of history that are older than the setting; with 0 nothing expires."""
    oldest = first_kept(timezone.now())
    if oldest is not None:
        get_store().drop_months_before(to_milliseconds(oldest))
