"""Forget what has long ended, on all sides."""

from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from processes.coordination.models import AppEvent, WriterEvent
from processes.coordination.reader.models import AppEvent as ReaderEvent
from processes.coordination.routing import alias_of, reader_names
from processes.coordination.statuses import FINAL

BATCH = 1000
log = structlog.get_logger(__name__)


def forget_old_events() -> None:
    """Delete events that ended more than RETENTION_DAYS ago, with their payloads, commit and rollback rows."""
    before = timezone.now() - timedelta(days=settings.RETENTION_DAYS)
    ended = {"app_event_status_id__in": [status.value for status in FINAL], "date__lt": before}
    # The Writer's last: as long as it has an event, it may be asked about.
    for name in reader_names():
        try:
            _forget(ReaderEvent.objects.using(alias_of(name)).filter(**ended))
        except DatabaseError as error:
            log.warning("coordination.reader_away", reader=name, error=str(error))
    _forget(WriterEvent.objects.filter(**ended, ended_at__lt=before))
    _forget(AppEvent.objects.filter(**ended, ended_at__lt=before))


def _forget(rows: Any) -> None:
    while ids := list(rows.order_by("pk").values_list("pk", flat=True)[:BATCH]):
        rows.model.objects.using(rows.db).filter(pk__in=ids).delete()
