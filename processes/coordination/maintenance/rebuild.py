"""Rebuild a reader's database from the Writer's, while writes go on.

The reader's state is locked first: nothing of it moves until its tables are whole again. Then the committed state of
the Writer is read in one snapshot. Events that were under way then are not in it: the reader answers `unknown` to
messages about them, and is sent everything anew. Events that were being committed are in it, and are marked so. Callers
who read the database meanwhile see the old rows until all of the new ones are there.
"""

from collections.abc import Callable
from typing import Any

import structlog
from django.db import DatabaseError, transaction
from django.utils import timezone

from processes.coordination.gateway.rows import get_reader_alias
from processes.coordination.maintenance.snapshot import Snapshot, consistent_read, split_chunks
from processes.coordination.models import AppEvent
from processes.coordination.protocol.database_errors import FailureKind, classify_error, describe_error
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.reader.models import COMMITS, ROLLBACKS, TABLES, AppEventPayload, ReaderState
from processes.coordination.reader.models import AppEvent as ReaderEvent
from processes.coordination.schema.entities import IN_ORDER, Entity
from processes.coordination.schema.routing import reader_alias
from processes.coordination.schema.tables import attribute_values

log = structlog.get_logger(__name__)
Progress = Callable[[str, int], Any]
TRIES = 10
"""Of a refill that falls victim to a deadlock, or waits for a lock in vain."""


def rebuild_reader(name: str, *, progress: Progress = lambda entity, rows: None) -> dict[str, int]:
    """Replace all rows of a reader; return how many it has of each entity."""
    alias = get_reader_alias(name)
    for tries_left in reversed(range(TRIES)):
        try:
            counts = _refill(alias, progress)
            break
        except DatabaseError as error:
            # What marks rows as sent, and what deletes old ones, locks them without the state and in another order:
            # one of the two falls victim to a deadlock. Nothing has changed then.
            if classify_error(error) is not FailureKind.BUSY or not tries_left:
                raise
            log.warning("coordination.rebuild_again", reader=name, tries_left=tries_left, error=describe_error(error))
    log.info("coordination.reader_rebuilt", reader=name, **counts)
    return counts


def _refill(alias: str, progress: Progress) -> dict[str, int]:
    """Replace all rows of a reader's database in one transaction."""
    with transaction.atomic(using=alias):
        ReaderState.objects.using(alias).select_for_update().get(pk=1)
        tables = (*COMMITS.values(), *ROLLBACKS.values(), AppEventPayload, ReaderEvent)
        for table in (*tables, *(TABLES[entity.name] for entity in reversed(IN_ORDER))):
            table.objects.using(alias).all()._raw_delete(alias)
        with consistent_read():
            snapshot = Snapshot()
            counts = {entity.name: _fill(entity, snapshot, alias, progress) for entity in IN_ORDER}
        _mark_committed(snapshot.committing, alias)
        ReaderState.objects.using(alias).update(built_at=timezone.now())
    return counts


def build_new_reader(name: str, say: Callable[[str], Any]) -> None:
    """Fill a reader that was never built: it must not begin with whichever event comes next."""
    if ReaderState.objects.using(reader_alias(name)).filter(built_at__isnull=True).exists():
        counts = rebuild_reader(name)
        if any(counts.values()):
            say(f"Reader {name} has {sum(counts.values())} rows.")


def _fill(entity: Entity, snapshot: Snapshot, alias: str, progress: Progress) -> int:
    table, done = TABLES[entity.name], 0
    for chunk in split_chunks(snapshot.rows(entity)):
        table.objects.using(alias).bulk_create(table(id=pk, **attribute_values(entity, values)) for pk, values in chunk)
        done += len(chunk)
        progress(entity.name, done)
    return done


def _mark_committed(events: list[AppEvent], alias: str) -> None:
    """Insert events that are being committed as committed: that is the answer to the messages about them."""
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
