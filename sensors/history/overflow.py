"""Bound the queue of history while the store is away: what is too much for the broker waits in the database.

The broker refuses every publisher when its disk is full, and then states and notifications would stand still. So it
holds `MOST_QUEUED` batches at most; older ones are packed into the spool, from where they are carried into history as
soon as the store is back. Nothing is dropped: what grows is the spool, by about 20 bytes for each signal, and an alert
says how large it is. It has no bound of its own: a thousand signals a second are 1.7 GB a day, so there are days to
bring the store back, and past any bound either signals that were accepted would be lost or the broker's disk would fill
instead, which stops states and notifications. A second alert, at `HISTORY_SPOOL_GB`, says that the days are over soon.
"""

from collections.abc import Iterable, Iterator

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Count, Sum
from django.db.models.functions import Length
from django.utils.translation import gettext_noop
from pika.adapters.blocking_connection import BlockingChannel
from prometheus_client import Counter

from notifications.services.alerts import close_alert, raise_alert
from sensors.history.queue import pack_bodies
from sensors.models import HistorySpool

MOST_QUEUED = 1000
"""Messages, each a batch of up to INGEST_BATCH signals: about 100 MB of them in the worst case."""
MOST_MOVED = 500
MOST_MOVED_BYTES = 32 << 20
PACKED_BYTES = 1 << 20
GIGABYTE = 1 << 30
BACKLOG = "history.backlog"
SUBJECT = "engine/clickhouse"
LARGE = "history.spool_large"
TITLE = gettext_noop(
    "History has been unavailable for a long time: %(megabytes)s MB of signals are waiting in the database"
)
LARGE_TITLE = gettext_noop(
    "History has been unavailable for too long: its signals are filling the disk of the database, %(megabytes)s MB "
    "so far. Bring ClickHouse back or free some space"
)

MOVED = Counter("postern_history_overflow", "Batches moved from the queue of history into the database")

log = structlog.get_logger(__name__)


def move_overflow(channel: BlockingChannel, queue: str) -> bool:
    """Move the oldest batches past the bound into the spool; return whether there are more of them.

    Acknowledged after the commit: dying in between repeats them, and history shows each signal once.
    """
    # Passive: it creates nothing, and its answer has the length of the queue.
    excess = int(channel.queue_declare(queue, passive=True).method.message_count) - MOST_QUEUED
    if excess <= 0:
        return False
    bodies, last_tag = _fetch(channel, queue, min(excess, MOST_MOVED))
    if not bodies:
        return False
    with transaction.atomic():
        HistorySpool.objects.bulk_create(HistorySpool(batch=pack_bodies(some)) for some in _bundles(bodies))
        _raise_alert()
    channel.basic_ack(last_tag, multiple=True)
    MOVED.inc(len(bodies))
    log.warning("history.overflow", batches=len(bodies), excess=excess)
    return excess > len(bodies)


def close_backlog_alerts() -> None:
    """Close the alerts of the backlog once the spool is empty."""
    if not HistorySpool.objects.exists():
        close_alert(BACKLOG, SUBJECT)
        close_alert(LARGE, SUBJECT)


def _fetch(channel: BlockingChannel, queue: str, most: int) -> tuple[list[bytes], int]:
    bodies, size, last_tag = list[bytes](), 0, 0
    while len(bodies) < most and size < MOST_MOVED_BYTES:
        method, _, body = channel.basic_get(queue)
        if method is None:
            break
        bodies.append(body)
        size += len(body)
        last_tag = method.delivery_tag or 0
    return bodies, last_tag


def _bundles(bodies: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield bodies in bundles of about a megabyte: a row for one signal would cost more than the signal."""
    bundle, size = list[bytes](), 0
    for body in bodies:
        bundle.append(body)
        size += len(body)
        if size >= PACKED_BYTES:
            yield bundle
            bundle, size = [], 0
    if bundle:
        yield bundle


def _raise_alert() -> None:
    spooled = HistorySpool.objects.aggregate(rows=Count("pk"), size=Sum(Length("batch")))
    size = spooled["size"] or 0
    detail = {"megabytes": f"{size / (1 << 20):.1f}", "rows": spooled["rows"]}
    raise_alert(BACKLOG, SUBJECT, TITLE, detail)
    if size >= settings.HISTORY_SPOOL_GB * GIGABYTE:
        raise_alert(LARGE, SUBJECT, LARGE_TITLE, detail)
