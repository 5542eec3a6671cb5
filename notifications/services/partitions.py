"""Keep the tables of events in their bounds: the coming days ready, the old days gone, nothing unread lost."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection
from django.db.models import Min
from django.utils import timezone

from config.common.database.partitions import drop_days_before, ensure_partitions
from notifications.followers import followings
from notifications.models import Event, EventHour, Follower

STEP = 5000


def expire_events() -> None:
    """Make the coming days' partitions and let go of events older than `EVENT_DAYS` that every follower has read."""
    now = timezone.now()
    ensure_partitions(Event, today=now.date())
    oldest = now - timedelta(days=settings.EVENT_DAYS)
    if connection.vendor == "postgresql":
        drop_days_before(Event, day=oldest.date(), may_go=_is_read)
    else:
        _delete_before(oldest)
    EventHour.objects.filter(hour__lt=oldest).delete()


def _read_by_all() -> int:
    """Return the position up to which every registered follower has read; one that never began has read nothing."""
    names = [following.name for following in followings()]
    rows = Follower.objects.filter(name__in=names)
    if rows.count() < len(names):
        return 0
    read = rows.aggregate(read=Min("position"))["read"]
    return int(read) if read is not None else 2**62


def _is_read(partition: str) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            f'SELECT NOT EXISTS (SELECT FROM "{partition}" WHERE position IS NULL OR position > %s)',
            [_read_by_all()],
        )
        return bool(cursor.fetchone()[0])


def _delete_before(oldest: datetime) -> None:
    """Delete in steps, each a short write transaction: SQLite has one writer at a time."""
    while True:
        step = Event.objects.filter(recorded_at__lt=oldest, position__lte=_read_by_all()).order_by("id")[:STEP]
        deleted, _ = Event.objects.filter(pk__in=list(step.values_list("pk", flat=True))).delete()
        if deleted < STEP:
            return
