"""Stamp positions on committed events: followers read on from a position and miss no transaction that commits late."""

from collections import Counter
from datetime import datetime

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from config.common.background.ring import ring
from config.common.database.sql import bulk_execute, load_engine_sql
from config.common.text import encode_clean
from notifications.counted_types import counted_types
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
        counts = _stamp(sequencer.position)
        stamped = counts.total()
        if stamped:
            Sequencer.objects.filter(pk=1).update(position=sequencer.position + stamped)
            now = timezone.now()
            _count_in_hour(now, stamped)
            minute = now.replace(second=0, microsecond=0)
            rows = [(minute, kind, outcome, count) for (kind, outcome), count in sorted(counts.items()) if kind]
            bulk_execute("notifications", "count_minute", rows)
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


def _stamp(last: int) -> Counter[tuple[str, str]]:
    """Stamp a batch; return how many events of each counted type and outcome it had, all others under no name."""
    counts = Counter[tuple[str, str]]()
    types = list(counted_types())
    counted = types if connection.vendor == "postgresql" else encode_clean(types)
    # A statement of its own: its snapshot is taken after the lock, so it sees every position given before.
    with connection.cursor() as cursor:
        cursor.execute(
            load_engine_sql("notifications", "stamp_events"),
            {"last": last, "limit": BATCH, "counted": counted},
        )
        for kind, outcome, count in cursor.fetchall():
            counts[kind, outcome] += count
    return counts


def _count_in_hour(at: datetime, stamped: int) -> None:
    hour = at.replace(minute=0, second=0, microsecond=0)
    # No race between the two statements: the lock of the sequencer's row lets one process write here.
    if not EventHour.objects.filter(hour=hour).update(count=F("count") + stamped):
        EventHour.objects.create(hour=hour, count=stamped)
