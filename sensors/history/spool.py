"""The spool of history: batches that wait in the database for ClickHouse, moved there when it answers."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now

from config.common.database.leases import claim
from sensors.history.errors import HistoryAway
from sensors.history.overflow import close_backlog_alerts
from sensors.history.queue import BadBatch, decode_batch, unpack_bodies, unreadable_batch
from sensors.history.store import get_store
from sensors.history.write import write_signals
from sensors.ingest.signals import Rejection, Signal
from sensors.models import HistorySpool

ROWS = 300
MOST_SIGNALS = 20_000
"""At once, so that the queue's batch beside it and this one stay small together."""
LEASE = timedelta(minutes=5)
PAUSE = timedelta(seconds=5)


def drain_spool_once() -> bool:
    """Move some batches of the spool into history; return whether there may be more.

    A crash between the insert and the delete repeats the batch, which history shows once.
    """
    if not HistorySpool.objects.exists() or not _is_store_available():
        return False
    rows = claim(HistorySpool.objects.all(), limit=ROWS, lease=LEASE)
    written = 0
    for group, signals, unreadable in _groups(rows):
        try:
            write_signals(get_store(), signals, unreadable)
        except HistoryAway:
            for row in rows[written:]:
                # Due again soon, unless another process has claimed it by now.
                HistorySpool.objects.filter(pk=row.pk, fence=row.fence).update(due_at=Now() + PAUSE)
            return False
        _delete(group)
        written += len(group)
    close_backlog_alerts()
    return len(rows) == ROWS


def _is_store_available() -> bool:
    """Ask before claiming: while the engine is away the rows stay as they are."""
    try:
        get_store().prepare()
    except HistoryAway:
        return False
    return True


def _groups(rows: Sequence[HistorySpool]) -> Iterator[tuple[list[HistorySpool], list[Signal], list[Rejection]]]:
    """Decode the rows as they are needed; yield them in groups that are worth an insert."""
    group, signals, unreadable = list[HistorySpool](), list[Signal](), list[Rejection]()
    for row in rows:
        for body in unpack_bodies(bytes(row.batch)):
            try:
                signals += decode_batch(body)
            except BadBatch as error:
                unreadable.append(unreadable_batch(body, error))
        group.append(row)
        if len(signals) >= min(settings.HISTORY_BATCH, MOST_SIGNALS):
            yield group, signals, unreadable
            group, signals, unreadable = [], [], []
    if group:
        yield group, signals, unreadable


def _delete(rows: Sequence[HistorySpool]) -> None:
    """Delete what is written; another process that has claimed it since finds nothing, and loses nothing."""
    HistorySpool.objects.filter(pk__in=[row.pk for row in rows]).delete()
