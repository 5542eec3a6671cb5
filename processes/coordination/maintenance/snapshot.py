"""The state that every reader must come to: the Writer's rows as the committed events have left them.

The Writer's tables are ahead of its readers: they hold changes of events that are under way, and of cancelled ones that
could not be undone. A row that such an event has touched is given as it was before the first of them, or as a later
event that was committed has left it. An event that is decided to be committed counts as committed: it is never undone.
A row whose payload cannot be read is given as the Writer has it.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from django.db import connection, transaction

from config.common.database.sql import in_number_array
from processes.coordination.gateway.rows import writer_rows
from processes.coordination.models import AppEvent, WriterEvent
from processes.coordination.protocol.row_changes import (
    RowChange,
    UnreadablePayload,
    decode_key,
    decode_readable_changes,
    fold_changes,
)
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.schema.entities import SENSOR_LINK, Entity, Key, Values
from processes.coordination.writer.registry import make_link_id, read_log_changes
from sensors.models import SensorClient

CHUNK = 2000
DECIDED = (EventStatus.COMMITTING, EventStatus.COMMITTED)
ENDED = [EventStatus.COMMITTED.value, EventStatus.CANCELED.value]


@dataclass
class Snapshot:
    """The committed rows; made and read inside `consistent_read`."""

    committing: list[AppEvent] = field(default_factory=list)
    """Events that count as committed and have not ended on the Writer."""
    _instead: dict[Key, tuple[Any, Values | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        open_events = list(AppEvent.objects.exclude(app_event_status_id__in=ENDED))
        decided = _decided([event.pk for event in open_events])
        self.committing = [event for event in open_events if event.pk in decided]
        later = _committed_after_failures(open_events)
        done = decided | {event.pk for event in later}
        for event in sorted((*open_events, *later), key=lambda event: event.pk):
            for change in event_changes(event):
                if event.pk not in done:
                    self._instead.setdefault(change.key, (change.id, change.before))
                elif change.key in self._instead:
                    self._instead[change.key] = change.id, change.after

    def rows(self, entity: Entity) -> Iterator[tuple[Any, Values]]:
        """Yield the ids and values of an entity's rows, in any order."""
        own = {key: there for key, there in self._instead.items() if key[0] == entity.name}
        for pk, values in _writer_rows(entity):
            if (entity.name, str(pk)) not in own:
                yield pk, values
        for pk, instead in own.values():
            if instead is not None:
                yield pk, instead


def split_chunks(rows: Iterator[tuple[Any, Values]]) -> Iterator[list[tuple[Any, Values]]]:
    while chunk := list(islice(rows, CHUNK)):
        yield chunk


@contextmanager
def consistent_read() -> Iterator[None]:
    """Let the block, which only reads, see one state of the database, whatever is committed meanwhile."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield
    else:
        with connection.cursor() as cursor:
            cursor.execute("BEGIN DEFERRED")  # not `atomic`, which takes the write lock
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")


def _decided(ids: list[int]) -> set[int]:
    rows = WriterEvent.objects.filter(
        pk__in=in_number_array(ids), app_event_status_id__in=[status.value for status in DECIDED]
    )
    return set(rows.values_list("pk", flat=True))


def _committed_after_failures(events: list[AppEvent]) -> list[AppEvent]:
    """Return the events committed since the first failed compensation: they may have changed the rows it has left."""
    failed = [event.pk for event in events if event.status == EventStatus.COMPENSATION_FAILED]
    if not failed:
        return []
    return list(AppEvent.objects.filter(pk__gt=min(failed), app_event_status_id=EventStatus.COMMITTED.value))


def event_changes(event: AppEvent) -> list[RowChange]:
    """Return what an event does to each row; from the change log while its payloads are not made yet."""
    if event.changes is not None:
        return fold_changes(read_log_changes(event.changes)[0])
    return fold_changes(decode_readable_changes(_contents(event)))


def changed_rows(event: AppEvent) -> set[Key]:
    """Return the keys of the rows that an event changes, also of those whose values cannot be read."""
    if event.changes is not None:
        return {change.key for change in event_changes(event)}
    found: set[Key] = set()
    for content in _contents(event):
        with suppress(UnreadablePayload):
            found.add(decode_key(content))
    return found


def _contents(event: AppEvent) -> Iterable[str]:
    return event.payloads.order_by("pk").values_list("content", flat=True)


def _writer_rows(entity: Entity) -> Iterator[tuple[Any, Values]]:
    if entity is SENSOR_LINK:
        for sensor, client in SensorClient.objects.values_list("sensor_id", "client_id").iterator(CHUNK):
            yield make_link_id(sensor, client), {"sensor": sensor, "client": client}
        return
    for row in writer_rows(entity).order_by("pk").iterator(CHUNK):
        yield row.pop("id"), row
