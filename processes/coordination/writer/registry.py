"""Events of the sensor registry, made from the lines of its change log.

In the transaction of a change only the event is inserted, which takes its place in the order; its payloads, commit and
rollback rows are made from the lines afterwards, each line once.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from config.audit.changes import Change, Values
from config.common.background.ring import ring
from config.records.models import ChangeRecord
from processes.coordination.models import AppEvent
from processes.coordination.protocol.row_changes import RowChange
from processes.coordination.schema.entities import CLIENT, SENSOR, SENSOR_LINK, Entity, type_number
from processes.coordination.work_names import WRITER
from processes.coordination.writer.event_records import EventRecord, insert_event

KINDS = {"sensor": SENSOR, "client": CLIENT}
"""Kinds of the change log that are coordinated."""
BATCH = 20
MOST_LINES = 1000
"""A turn ends after the event with which it has read so many lines: no transaction takes long."""

_collected: ContextVar["Collected | None"] = ContextVar("collected_changes", default=None)


@dataclass
class Collected:
    """Changes that are to be one event, and that event."""

    changes: list[tuple[Change, int]] = field(default_factory=list)
    event: int | None = None
    """None where nothing has changed."""


def record_registry_changes(changes: Sequence[Change], ids: Sequence[int]) -> None:
    """Insert one event for the lines that one call has written to the change log, in its transaction."""
    of_registry = [(change, pk) for change, pk in zip(changes, ids, strict=True) if change.kind in KINDS]
    collected = _collected.get()
    if collected is not None:
        collected.changes += of_registry
    elif of_registry:
        _record(of_registry)


@contextmanager
def collect_into_one_event() -> Iterator[Collected]:
    """Make one event of all changes inside the block; the caller has opened a transaction."""
    collected = Collected()
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)
    if collected.changes:
        collected.event = _record(collected.changes)


def _record(changes: list[tuple[Change, int]]) -> int:
    first = changes[0][0]
    change = RowChange(KINDS[first.kind], first.object_id, first.before, first.after)
    type = type_number(change.entity, change.op)
    event = insert_event(type, is_undone=False, at=timezone.now(), changes=[pk for _, pk in changes])
    ring(WRITER)
    return event.pk


def fill_payloads_once(*, at: datetime) -> bool:
    """Make the payloads of a batch of events from the change log; return whether there were any."""
    with transaction.atomic():
        waiting = AppEvent.objects.select_for_update(skip_locked=True).filter(changes__isnull=False)
        events = _take_within_lines(waiting.order_by("pk")[:BATCH])
        for event in events:
            changes, sources = read_log_changes(event.changes or [])
            EventRecord(event, changes, sources=sources).write(at=at)
            AppEvent.objects.filter(pk=event.pk).update(payload_count=len(changes), changes=None)
    return bool(events)


def first_unread_change() -> int | None:
    """Return the first line of the change log whose payloads are still to be made."""
    waiting = AppEvent.objects.filter(changes__isnull=False).values_list("changes", flat=True)
    return min((pk for ids in waiting.iterator() for pk in ids or ()), default=None)


def _take_within_lines(events: Iterable[AppEvent]) -> list[AppEvent]:
    chosen: list[AppEvent] = []
    lines = 0
    for event in events:
        if lines >= MOST_LINES:
            break
        chosen.append(event)
        lines += len(event.changes or [])
    return chosen


def read_log_changes(ids: Sequence[int]) -> tuple[list[RowChange], list[tuple[int | None, int]]]:
    """Return the row changes of lines of the change log, and for each of them its line and part."""
    lines = ChangeRecord.objects.in_bulk(list(ids))
    changes: list[RowChange] = []
    sources: list[tuple[int | None, int]] = []
    for pk in ids:
        parts = _parts(lines[pk])
        changes += parts
        sources += ((pk, part) for part in range(len(parts)))
    return changes, sources


def _parts(line: ChangeRecord) -> list[RowChange]:
    if line.kind == "client":
        return [_row(CLIENT, int(line.object_id), line.before, line.after)]
    sensor = _row(SENSOR, line.object_id, line.before, line.after)
    before, after = (set((side or {}).get("clients", ())) for side in (line.before, line.after))
    gone = [_link(line.object_id, client, is_new=False) for client in sorted(before - after)]
    new = [_link(line.object_id, client, is_new=True) for client in sorted(after - before)]
    return [*gone, sensor, *new]


def _row(entity: Entity, id: str | int, before: Values | None, after: Values | None) -> RowChange:
    return RowChange(entity, id, entity.read_values(before), entity.read_values(after))


def _link(sensor: str, client: int, *, is_new: bool) -> RowChange:
    values = {"sensor": sensor, "client": client}
    return RowChange(SENSOR_LINK, make_link_id(sensor, client), None if is_new else values, values if is_new else None)


def make_link_id(sensor: str, client: int) -> str:
    return f"{sensor}:{client}"
