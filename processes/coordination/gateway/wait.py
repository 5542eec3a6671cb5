"""Let a caller read its own writes: its call waits until a reader has applied an event."""

import threading
import time
from functools import partial
from typing import Any

from django.conf import settings
from django.db.models import QuerySet

from config.common.web.limits import Busy
from processes.coordination.errors import EventCanceled, EventNotFound, NotYetHere
from processes.coordination.gateway.readers import ask_reader
from processes.coordination.models import AppEvent
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.reader.models import AppEvent as ReaderEvent

LONGEST_WAIT = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.25

ONE_IN = 4
"""One web slot in so many may wait: a waiting call keeps its slot, and three quarters of them stay for others."""

_waiting = threading.BoundedSemaphore(max(1, settings.WEB_CONCURRENCY // ONE_IN))


def wait_for_event(event_id: int, *, alias: str) -> None:
    """Return once the reader of this database has committed the event; raise `NotYetHere` after ten seconds."""
    if _is_here(event_id, alias):
        return
    if not _waiting.acquire(blocking=False):
        raise Busy
    try:
        _poll(event_id, alias)
    finally:
        _waiting.release()


def _poll(event_id: int, alias: str) -> None:
    deadline, pause = time.monotonic() + LONGEST_WAIT, FIRST_PAUSE
    while time.monotonic() < deadline:
        time.sleep(pause)
        if _is_here(event_id, alias):
            return
        pause = min(2 * pause, LONGEST_PAUSE)
    raise NotYetHere(event=event_id)


def _is_here(event_id: int, alias: str) -> bool:
    """Return whether the reader has committed the event; the Writer knows of those that a rebuilt reader has not."""
    for read_status in (partial(_status_at_reader, alias), _status_at_writer):
        status = read_status(event_id)
        if status == EventStatus.COMMITTED:
            return True
        if status == EventStatus.CANCELED:
            raise EventCanceled(event=event_id)
    if status is None:
        raise EventNotFound
    return False


def _status_at_reader(alias: str, event_id: int) -> int | None:
    # Each look by itself: a call that pauses between two of them waits for no database.
    with ask_reader(alias):
        return _find_status(ReaderEvent.objects.using(alias), event_id)


def _status_at_writer(event_id: int) -> int | None:
    return _find_status(AppEvent.objects.all(), event_id)


def _find_status(rows: "QuerySet[Any]", event_id: int) -> int | None:
    return rows.filter(pk=event_id).values_list("app_event_status_id", flat=True).first()
