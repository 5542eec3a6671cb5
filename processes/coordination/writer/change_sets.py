"""Step 1: change rows of the Writer's entities, with the event of it, its payloads, commit and rollback rows.

All of it is one transaction. The rows are locked and checked before the event takes its id, so two events that touch
one row have ids in the order in which they were committed.
"""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from config.common.background.ring import ring
from config.common.correlation import correlation_id
from config.common.database.bulk_insert import insert_rows
from config.common.database.sql import in_number_array
from config.common.errors import Invalid
from processes.coordination.models import AppEventType
from processes.coordination.models.writer import TABLES
from processes.coordination.protocol.row_changes import RowChange
from processes.coordination.schema.entities import Entity, Op, Values, type_number
from processes.coordination.schema.tables import attribute_columns, read_values
from processes.coordination.work_names import WRITER
from processes.coordination.writer.event_records import EventRecord, insert_event
from processes.coordination.writer.tree import Tree, lock_rows


@dataclass(frozen=True)
class RequestedChange:
    """One change that a caller requests; the form of its fields has been checked."""

    entity: Entity
    op: Op
    id: int | None = None
    fields: Values = field(default_factory=dict)
    path: str = ""
    """Where it stands in the body of the call; errors name it."""


@dataclass(frozen=True)
class AppliedChangeSet:
    event: int
    ids: list[int]


def apply_change_set(requests: Sequence[RequestedChange], *, at: datetime) -> AppliedChangeSet:
    """Make all of these changes as one event, or none; return the event and the ids of the rows."""
    with transaction.atomic():
        locked = _LockedRows(requests)
        planned = [locked.plan(each) for each in requests]
        if locked.faults:
            raise Invalid(locked.faults)
        type = type_number(requests[0].entity, requests[0].op)
        event = insert_event(type, is_undone=True, at=at, payloads=len(requests))
        changes = _write(planned, event.pk)
        EventRecord(event, changes, locked.last_events).write(at=at)
        ring(WRITER)
    return AppliedChangeSet(event.pk, [each.id for each in changes])


class _LockedRows:
    """The rows that a change set touches, locked, as its changes leave them one after the other."""

    def __init__(self, requests: Sequence[RequestedChange]) -> None:
        self.faults: dict[str, list[str]] = {}
        self.last_events: dict[tuple[str, Any], int] = {}
        self._rows: dict[tuple[str, int], Values | None] = {}
        entities = {each.entity.name: each.entity for each in requests}
        self._trees = {name: Tree(entity) for name, entity in sorted(entities.items()) if entity.parent}
        for name in self._trees:
            lock_tree(entities[name])
        for name, entity in sorted(entities.items()):
            rows = lock_rows(entity, [each.id for each in requests if each.entity is entity and each.id is not None])
            for pk, row in rows.items():
                self._rows[name, pk] = read_values(entity, row)
                self.last_events[name, pk] = row.last_event_id

    def plan(self, request: RequestedChange) -> RowChange:
        """Return what a change does to its row; the changes behind it see the row so."""
        before = None if request.id is None else self._rows.get((request.entity.name, request.id))
        if request.id is not None and before is None:
            self._fault(request, "id", gettext("Row not found."))
        after = None if request.op == Op.DELETE else _values_after(request, before)
        planned = RowChange(request.entity, request.id, before, after)
        self._check_tree(request, planned)
        self._check_references(request, planned)
        if request.id is not None:
            self._rows[request.entity.name, request.id] = after
        return planned

    def _check_tree(self, request: RequestedChange, planned: RowChange) -> None:
        tree = self._trees.get(request.entity.name)
        if tree is None or (request.id is not None and planned.before is None):
            return
        fault = tree.fault(request.id, planned.before, planned.after)
        if fault:
            assert request.entity.parent is not None
            self._fault(request, "id" if planned.after is None else request.entity.parent.name, gettext(fault))
        else:
            tree.change(request.id, planned.after)

    def _check_references(self, request: RequestedChange, planned: RowChange) -> None:
        """Add a fault for a reference to a row that is not there; one that goes meanwhile breaks a constraint."""
        for column in request.entity.references:
            value = None if planned.after is None else planned.after[column.name]
            is_new = planned.before is None or planned.before[column.name] != value
            if value is None or not is_new or column is request.entity.parent:
                continue
            referred = TABLES[request.entity.name]._meta.get_field(column.name).related_model
            if not referred._default_manager.filter(pk=value).exists():
                self._fault(request, column.name, gettext("Row not found."))

    def _fault(self, request: RequestedChange, name: str, rule: str) -> None:
        self.faults.setdefault(".".join(filter(None, (request.path, name))), []).append(rule)


def lock_tree(entity: Entity) -> None:
    """Let one change set at a time change a tree: two moves, each right by itself, can make a circle."""
    AppEventType.objects.select_for_update(no_key=True).get(pk=type_number(entity, Op.UPDATE))


def _values_after(request: RequestedChange, before: Values | None) -> Values:
    if before is not None:
        return before | request.fields
    values = {column.name: request.fields.get(column.name) for column in request.entity.columns}
    if values.get("correlation_id", ...) is None:
        values["correlation_id"] = _correlation_uuid()
    return values


def _correlation_uuid() -> uuid.UUID:
    """Return the correlation id of the call; the column takes a UUID only."""
    try:
        return uuid.UUID(correlation_id())
    except ValueError:
        return uuid.uuid4()


def _write(planned: Sequence[RowChange], event: int) -> list[RowChange]:
    """Write the rows; return the changes with the ids of new rows filled in."""
    done: list[RowChange | None] = list(planned)
    for entity in {each.entity.name: each.entity for each in planned}.values():
        places = [place for place, each in enumerate(planned) if each.entity is entity and each.id is None]
        new = attribute_columns(entity, [planned[place].after for place in places])
        keys = insert_rows(TABLES[entity.name], new, same={"last_event_id": event})
        for place, pk in zip(places, keys, strict=True):
            done[place] = RowChange(entity, pk, None, planned[place].after)
        # Of several changes to one row the last.
        last = {each.id: each.after for each in planned if each.entity is entity and each.id is not None}
        store_rows(entity, {pk: after for pk, after in last.items() if after is not None}, dict.fromkeys(last, event))
        delete_rows(entity, [pk for pk, after in last.items() if after is None])
    return [each for each in done if each is not None]


def store_rows(entity: Entity, rows: dict[Any, Values], last_events: dict[Any, int]) -> None:
    columns = attribute_columns(entity, list(rows.values())) | {"last_event_id": [last_events[pk] for pk in rows]}
    insert_rows(TABLES[entity.name], {"id": list(rows), **columns}, update=tuple(columns))


def delete_rows(entity: Entity, ids: Sequence[Any]) -> None:
    if ids:
        # Not `delete()`: it would look for referring rows, which have been checked, one table at a time.
        rows = TABLES[entity.name].objects.filter(pk__in=in_number_array(ids))
        rows._raw_delete(rows.db)
