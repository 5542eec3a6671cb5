"""Stamp positions on committed events: followers read on from a position and miss no transaction that commits late."""

from datetime import datetime

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from config.common.background.ring import ring
from config.common.database.sql import load_sql
from notifications.followers import followings, work_name
from notifications.models import Event, EventHour, Sequencer

BATCH = 5000


def stamp_once() -> bool:
    """Stamp one batch; return whether there may be more. Of several processes the one that locks the row stamps."""
    if not Event.objects.filter(position__isnull=True).exists():
        return False
    with transaction.atomic():
        sequencer = _lock_sequencer()
        if sequencer is None:
            return False
        # A statement of its own: its snapshot is taken after the lock, so it sees every position given before.
        with connection.cursor() as cursor:
            cursor.execute(load_sql("notifications", "stamp_events"), {"last": sequencer.position, "limit": BATCH})
            stamped = int(cursor.rowcount)
        if stamped:
            Sequencer.objects.filter(pk=1).update(position=sequencer.position + stamped)
            _count_in_hour(timezone.now(), stamped)
            for following in followings():
                ring(work_name(following.name))
    return stamped == BATCH


def _lock_sequencer() -> Sequencer | None:
    """Return the locked row, created by the very first call; None while another process holds it."""
    rows = Sequencer.objects.select_for_update(skip_locked=True)
    sequencer = rows.first()
    if sequencer is None and not Sequencer.objects.exists():
        Sequencer.objects.bulk_create([Sequencer(pk=1)], ignore_conflicts=True)
        sequencer = rows.first()
    return sequencer


def _count_in_hour(at: datetime, stamped: int) -> None:
    hour = at.replace(minute=0, second=0, microsecond=0)
    # No race between the two statements: the lock of the sequencer's row lets one process write here.
    if not EventHour.objects.filter(hour=hour).update(count=F("count") + stamped):
        EventHour.objects.create(hour=hour, count=stamped)
