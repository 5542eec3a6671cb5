"""Retention: delete events that ended long ago, on all sides, and reduce committed ones to what is still of use."""

from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from config.common.database.sql import in_number_array
from processes.coordination.models import AppEvent, WriterEvent, WriterEventPayload
from processes.coordination.models.writer import COMMITS, ROLLBACKS
from processes.coordination.protocol.statuses import FINAL, EventStatus
from processes.coordination.protocol.steps import PACKED, json_by_row, pack_steps, with_ids
from processes.coordination.reader import models as reader
from processes.coordination.schema.routing import reader_alias, reader_names

BATCH = 1000
WHOLE_FOR = timedelta(hours=1)
"""How long a committed event keeps all its rows: late messages about it are answered from them."""
log = structlog.get_logger(__name__)


def slimmed_filter(at: datetime) -> dict[str, Any]:
    """Return the condition for events of the Writer and the Coordinator that may have been reduced."""
    return {"app_event_status_id": EventStatus.COMMITTED.value, "ended_at__lt": at - WHOLE_FOR}


def slim_committed_events() -> None:
    """Delete the commit and rollback rows of committed events, and the copies of their payloads.

    The event stays on all sides, with its steps, packed, and its readers' verdicts, and so do the Writer's payloads:
    repeats are answered by the one, pages, the trace and a rebuilt reader are served from the other. Cancelled ones
    keep their rows: they are few, and people look into them.
    """
    at = timezone.now()
    for table in (*COMMITS.values(), *ROLLBACKS.values()):
        _delete(table.objects.filter(**_of("app_event", slimmed_filter(at))))
    _delete(WriterEventPayload.objects.filter(**_of("writer_event", slimmed_filter(at))))
    for events in (AppEvent.objects, WriterEvent.objects):
        _pack(events.filter(**slimmed_filter(at)))
    for alias in map(reader_alias, reader_names()):
        # A reader keeps no time of its end; what it has committed it needs no more, whatever the others do.
        ended = {"app_event_status_id": EventStatus.COMMITTED.value, "date__lt": at - WHOLE_FOR}
        for table in (*reader.COMMITS.values(), *reader.ROLLBACKS.values(), reader.AppEventPayload):
            _try(_delete, table.objects.using(alias).filter(**_of("app_event", ended)))
        _try(_pack, reader.AppEvent.objects.using(alias).filter(**ended))


def expire_events() -> None:
    """Delete events that ended more than RETENTION_DAYS ago, with all that is left of them."""
    before = timezone.now() - timedelta(days=settings.RETENTION_DAYS)
    ended = {"app_event_status_id__in": [status.value for status in FINAL], "date__lt": before}
    # The Writer's last: as long as it has an event, it may be asked about.
    for alias in map(reader_alias, reader_names()):
        _try(_expire, reader.AppEvent.objects.using(alias).filter(**ended))
        _try(_expire_strays, reader.AppEvent.objects.using(alias).filter(date__lt=before))
    _expire(WriterEvent.objects.filter(**ended, ended_at__lt=before))
    _expire(AppEvent.objects.filter(**ended, ended_at__lt=before))


def _try(do: Any, rows: Any) -> None:
    """Call a function with a reader's rows; if its database is unreachable the next run catches up."""
    try:
        do(rows)
    except DatabaseError as error:
        log.warning("coordination.reader_away", database=rows.db, error=str(error))


def _of(event: str, conditions: dict[str, Any]) -> dict[str, Any]:
    return {f"{event}__{name}": value for name, value in conditions.items()}


def _delete(rows: Any) -> None:
    """Delete rows that nothing refers to, in batches."""
    while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH]):
        found = rows.model.objects.using(rows.db).filter(pk__in=in_number_array(ids, alias=rows.db))
        found._raw_delete(rows.db)


def _pack(rows: Any) -> None:
    """Pack the steps of events, in batches."""
    unpacked = rows.exclude(steps__has_key=PACKED).order_by("pk")
    while found := dict(unpacked.values_list("pk", "steps")[:BATCH]):
        packed = {pk: pack_steps(steps) for pk, steps in found.items()}
        with_ids(rows.model.objects.using(rows.db), packed).update(steps=json_by_row(packed))


def _expire(rows: Any) -> None:
    while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH]):
        rows.model.objects.using(rows.db).filter(pk__in=ids).delete()


def _expire_strays(rows: Any) -> None:
    """Delete events that only a reader has: a very late message has inserted them once more."""
    ids = list(rows.exclude(app_event_status_id__in=list(FINAL)).values_list("pk", flat=True)[:BATCH])
    known = set(AppEvent.objects.filter(pk__in=in_number_array(ids)).values_list("pk", flat=True))
    _expire(rows.filter(pk__in=set(ids) - known))
