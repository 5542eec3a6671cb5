"""Stamp positions on committed events, so that followers can read on from a number without missing late commits."""

from datetime import datetime

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from config.common.background.ring import ring
from config.common.database import sql
from notifications.followers import followings, work_name
from notifications.models import Event, EventHour, Sequencer

BATCH = 5000


def stamp_once() -> bool:
    """Stamp one batch; return whether there may be more. Of several sequencers the one that holds the row stamps.

    Two statements on purpose: the second one's snapshot is taken after the row is locked, so it sees every position
    that the previous holder gave.
    """
    if not Event.objects.filter(position__isnull=True).exists():
        return False
    with transaction.atomic():
        sequencer = _find_free_sequencer()
        if sequencer is None:
            return False
        stamped = _stamp(sequencer.position)
        if stamped:
            Sequencer.objects.filter(pk=1).update(position=sequencer.position + stamped)
            _count(timezone.now(), stamped)
            for following in followings():
                ring(work_name(following.name))
    return stamped == BATCH


def _find_free_sequencer() -> Sequencer | None:
    """Lock the row, or return None while another sequencer holds it; the very first call makes it."""
    rows = Sequencer.objects.select_for_update(skip_locked=True)
    sequencer = rows.first()
    if sequencer is None and not Sequencer.objects.exists():
        Sequencer.objects.bulk_create([Sequencer(pk=1)], ignore_conflicts=True)
        sequencer = rows.first()
    return sequencer


def _stamp(last: int) -> int:
    with connection.cursor() as cursor:
        cursor.execute(sql.load_sql("notifications", "stamp_events"), {"last": last, "limit": BATCH})
        return int(cursor.rowcount)


def _count(at: datetime, stamped: int) -> None:
    """Add to the hour's number; the sequencer's row lock makes this the only writer."""
    hour = at.replace(minute=0, second=0, microsecond=0)
    if not EventHour.objects.filter(hour=hour).update(count=F("count") + stamped):
        EventHour.objects.create(hour=hour, count=stamped)
