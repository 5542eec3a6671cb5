"""Fill a reader's database from nothing, while writes go on.

The reader's state is locked first: nothing of it moves until its tables are whole again. Then the committed state of
the Writer is read as of one moment. Events that were under way then are not in it: the reader does not know them, says
so when it is told of them, and is told everything anew. Events that were being committed are in it, and are marked so.
Whoever reads the database meanwhile sees the old rows until all of the new ones are there.
"""

from collections.abc import Callable
from typing import Any

import structlog
from django.db import transaction
from django.utils import timezone

from processes.coordination.gateway.rows import get_reader_alias
from processes.coordination.maintenance.snapshot import Snapshot, consistent_read, split_chunks
from processes.coordination.models import AppEvent
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.reader.models import COMMITS, ROLLBACKS, TABLES, AppEventPayload, ReaderState
from processes.coordination.reader.models import AppEvent as ReaderEvent
from processes.coordination.schema.entities import IN_ORDER, Entity
from processes.coordination.schema.routing import reader_alias
from processes.coordination.schema.tables import attribute_values

log = structlog.get_logger(__name__)
Progress = Callable[[str, int], Any]


def rebuild_reader(name: str, *, progress: Progress = lambda entity, rows: None) -> dict[str, int]:
    """Fill a reader anew; return how many rows of each entity it has."""
    alias = get_reader_alias(name)
    with transaction.atomic(using=alias):
        ReaderState.objects.using(alias).select_for_update().get(pk=1)
        _wipe(alias)
        with consistent_read():
            snapshot = Snapshot()
            counts = {entity.name: _fill(entity, snapshot, alias, progress) for entity in IN_ORDER}
        _mark_committed(snapshot.committing, alias)
        ReaderState.objects.using(alias).update(built_at=timezone.now())
    log.info("coordination.reader_rebuilt", reader=name, **counts)
    return counts


def build_new_reader(name: str, say: Callable[[str], Any]) -> None:
    """Fill a reader that never was: it must not begin with what happens to come next."""
    if ReaderState.objects.using(reader_alias(name)).filter(built_at__isnull=True).exists():
        counts = rebuild_reader(name)
        if any(counts.values()):
            say(f"Reader {name} has {sum(counts.values())} rows.")


def _wipe(alias: str) -> None:
    tables = (*COMMITS.values(), *ROLLBACKS.values(), AppEventPayload, ReaderEvent)
    for table in (*tables, *(TABLES[entity.name] for entity in reversed(IN_ORDER))):
        table.objects.using(alias).all()._raw_delete(alias)


def _fill(entity: Entity, snapshot: Snapshot, alias: str, progress: Progress) -> int:
    table, done = TABLES[entity.name], 0
    for chunk in split_chunks(snapshot.rows(entity)):
        table.objects.using(alias).bulk_create(table(id=pk, **attribute_values(entity, values)) for pk, values in chunk)
        done += len(chunk)
        progress(entity.name, done)
    return done


def _mark_committed(events: list[AppEvent], alias: str) -> None:
    """Keep events that are being committed as committed here: that is the answer when they are asked about."""
    ReaderEvent.objects.using(alias).bulk_create(
        ReaderEvent(
            pk=event.pk,
            position=event.position or 0,
            date=event.date,
            correlation_id=event.correlation_id,
            app_event_type_id=event.app_event_type_id,
            app_event_status_id=EventStatus.COMMITTED.value,
            payload_count=event.payload_count,
        )
        for event in events
    )
