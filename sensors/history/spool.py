"""Signals that no queue carries: stored in the transaction that accepts them, or spooled there for ClickHouse."""

from collections.abc import Iterator, Sequence
from datetime import timedelta

from django.conf import settings
from django.db.models.functions import Now

from config.common.database.leases import claim
from sensors.history.database import insert_signals
from sensors.history.errors import HistoryAway
from sensors.history.overflow import close_backlog_alerts
from sensors.history.queue import BadBatch, decode_batch, encode_batch, unpack_bodies, unreadable_batch
from sensors.history.store import get_store
from sensors.history.write import write_signals
from sensors.ingest.signals import Rejection, Signal
from sensors.models import HistorySpool

ROWS = 300
MOST_SIGNALS = 20_000
"""At once, so that the queue's batch beside it and this one stay small together."""
LEASE = timedelta(minutes=5)
PAUSE = timedelta(seconds=5)


def store_in_transaction(signals: Sequence[Signal]) -> None:
    """Make the signals history with the caller's commit: as rows, or as a batch on its way to ClickHouse.

    Without ClickHouse this is the last word; with it, the scheduler or `run_history` carries the batch over.
    """
    if not signals:
        return
    if settings.CLICKHOUSE_URL:
        HistorySpool.objects.create(batch=encode_batch(signals))
    else:
        insert_signals(signals)


def drain_spool_once() -> bool:
    """Write some batches into history and delete them; return whether there may be more.

    Dying between the two repeats the batch, which history shows once.
    """
    if not HistorySpool.objects.exists() or not _is_there():
        return False
    rows = claim(HistorySpool.objects.all(), limit=ROWS, lease=LEASE)
    written = 0
    for group, signals, unreadable in _groups(rows):
        try:
            write_signals(get_store(), signals, unreadable)
        except HistoryAway:
            _give_back(rows[written:])
            return False
        _delete(group)
        written += len(group)
    close_backlog_alerts()
    return len(rows) == ROWS


def _is_there() -> bool:
    """Ask before claiming: for as long as the engine is away the rows stay as they are."""
    try:
        get_store().prepare()
    except HistoryAway:
        return False
    return True


def _groups(rows: Sequence[HistorySpool]) -> Iterator[tuple[list[HistorySpool], list[Signal], list[Rejection]]]:
    """Decode the rows as they are needed, and gather them into batches worth an insert."""
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
    """Delete what is written; whoever has claimed it since finds nothing, and loses nothing."""
    HistorySpool.objects.filter(pk__in=[row.pk for row in rows]).delete()


def _give_back(rows: Sequence[HistorySpool]) -> None:
    """Let the rows be due again soon, unless someone else holds them by now."""
    for row in rows:
        HistorySpool.objects.filter(pk=row.pk, fence=row.fence).update(due_at=Now() + PAUSE)
