"""Step 1: change rows of the Writer's entities, with the event of it, its payloads, commit and rollback rows.

All of it is one transaction. The rows are held and judged before the event takes its id, so two events that touch one
row have ids in the order in which they were committed.
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
from config.common.database.sql import in_number_array
from config.common.errors import Invalid
from processes.coordination.models import AppEventType
from processes.coordination.models.writer import TABLES
from processes.coordination.protocol.row_changes import RowChange
from processes.coordination.schema.bulk_insert import insert_rows
from processes.coordination.schema.entities import Entity, Op, Values, type_number
from processes.coordination.schema.tables import attribute_columns, read_values
from processes.coordination.work_names import WRITER
from processes.coordination.writer.event_records import EventRecord, insert_event
from processes.coordination.writer.tree import Tree, lock_rows


@dataclass(frozen=True)
class RequestedChange:
    """One change that a caller asks for; the fields have been checked for their form."""

    entity: Entity
    op: Op
    id: int | None = None
    fields: Values = field(default_factory=dict)
    path: str = ""
    """Where it stands in the call, for the words of an error."""


@dataclass(frozen=True)
class AppliedChangeSet:
    event: int
    ids: list[int]


def apply_change_set(wanted: Sequence[RequestedChange], *, at: datetime) -> AppliedChangeSet:
    """Make all of these changes, or none: one change set is one event."""
    with transaction.atomic():
        working = _Working(wanted)
        planned = [working.plan(each) for each in wanted]
        if working.faults:
            raise Invalid(working.faults)
        type = type_number(wanted[0].entity, wanted[0].op)
        event = insert_event(type, is_undone=True, at=at, payloads=len(wanted))
        changes = _write(planned, event.pk)
        EventRecord(event, changes, working.last_events).write(at=at)
        ring(WRITER)
    return AppliedChangeSet(event.pk, [each.id for each in changes])


class _Working:
    """The rows that a change set touches, held, as its changes leave them one after the other."""

    def __init__(self, wanted: Sequence[RequestedChange]) -> None:
        self.faults: dict[str, list[str]] = {}
        self.last_events: dict[tuple[str, Any], int] = {}
        self._rows: dict[tuple[str, int], Values | None] = {}
        entities = {each.entity.name: each.entity for each in wanted}
        self._trees = {name: Tree(entity) for name, entity in sorted(entities.items()) if entity.parent}
        for name in self._trees:
            lock_tree(entities[name])
        for name, entity in sorted(entities.items()):
            held = lock_rows(entity, [each.id for each in wanted if each.entity is entity and each.id is not None])
            for pk, row in held.items():
                self._rows[name, pk] = read_values(entity, row)
                self.last_events[name, pk] = row.last_event_id

    def plan(self, wanted: RequestedChange) -> RowChange:
        """Say what a change does to its row, and keep that in mind for those behind it."""
        before = None if wanted.id is None else self._rows.get((wanted.entity.name, wanted.id))
        if wanted.id is not None and before is None:
            self._fault(wanted, "id", gettext("There is no row with this id."))
        after = None if wanted.op == Op.DELETE else _after(wanted, before)
        planned = RowChange(wanted.entity, wanted.id, before, after)
        self._check_tree(wanted, planned)
        self._check_references(wanted, planned)
        if wanted.id is not None:
            self._rows[wanted.entity.name, wanted.id] = after
        return planned

    def _check_tree(self, wanted: RequestedChange, planned: RowChange) -> None:
        tree = self._trees.get(wanted.entity.name)
        if tree is None or (wanted.id is not None and planned.before is None):
            return
        fault = tree.fault(wanted.id, planned.before, planned.after)
        if fault:
            assert wanted.entity.parent is not None
            self._fault(wanted, "id" if planned.after is None else wanted.entity.parent.name, gettext(fault))
        else:
            tree.change(wanted.id, planned.after)

    def _check_references(self, wanted: RequestedChange, planned: RowChange) -> None:
        """Name a row that is not there; one that goes meanwhile is a broken constraint at the commit."""
        for column in wanted.entity.references:
            value = None if planned.after is None else planned.after[column.name]
            is_new = planned.before is None or planned.before[column.name] != value
            if value is None or not is_new or column is wanted.entity.parent:
                continue
            referred = TABLES[wanted.entity.name]._meta.get_field(column.name).related_model
            if not referred._default_manager.filter(pk=value).exists():
                self._fault(wanted, column.name, gettext("There is no row with this id."))

    def _fault(self, wanted: RequestedChange, name: str, rule: str) -> None:
        self.faults.setdefault(".".join(filter(None, (wanted.path, name))), []).append(rule)


def lock_tree(entity: Entity) -> None:
    """Let one change set at a time touch a tree: two moves, each right by itself, can make a circle."""
    AppEventType.objects.select_for_update(no_key=True).get(pk=type_number(entity, Op.UPDATE))


def _after(wanted: RequestedChange, before: Values | None) -> Values:
    if before is not None:
        return before | wanted.fields
    values = {column.name: wanted.fields.get(column.name) for column in wanted.entity.columns}
    if values.get("correlation_id", ...) is None:
        values["correlation_id"] = _own_id()
    return values


def _own_id() -> uuid.UUID:
    """Return the correlation id of the call as the document has it: a GUID."""
    try:
        return uuid.UUID(correlation_id())
    except ValueError:
        return uuid.uuid4()


def _write(planned: Sequence[RowChange], event: int) -> list[RowChange]:
    """Write the rows and return the changes with the ids of those that are new."""
    done: list[RowChange | None] = list(planned)
    for entity in {each.entity.name: each.entity for each in planned}.values():
        places = [place for place, each in enumerate(planned) if each.entity is entity and each.id is None]
        for place, pk in zip(places, _insert(entity, [planned[place] for place in places], event), strict=True):
            done[place] = RowChange(entity, pk, None, planned[place].after)
        _store(entity, [each for each in planned if each.entity is entity and each.id is not None], event)
    return [each for each in done if each is not None]


def _insert(entity: Entity, changes: Sequence[RowChange], event: int) -> list[int]:
    after = attribute_columns(entity, [each.after for each in changes])
    return insert_rows(TABLES[entity.name], after, same={"last_event_id": event})


def _store(entity: Entity, changes: Sequence[RowChange], event: int) -> None:
    """Write rows that were there; of several changes to one the last."""
    last = {each.id: each.after for each in changes}
    store_rows(entity, {pk: after for pk, after in last.items() if after is not None}, dict.fromkeys(last, event))
    delete_rows(entity, [pk for pk, after in last.items() if after is None])


def store_rows(entity: Entity, rows: dict[Any, Values], last_events: dict[Any, int]) -> None:
    columns = attribute_columns(entity, list(rows.values())) | {"last_event_id": [last_events[pk] for pk in rows]}
    insert_rows(TABLES[entity.name], {"id": list(rows), **columns}, update=tuple(columns))


def delete_rows(entity: Entity, ids: Sequence[Any]) -> None:
    if ids:
        # Not `delete()`: it would look for what refers to the rows, which has been judged, one table at a time.
        rows = TABLES[entity.name].objects.filter(pk__in=in_number_array(ids))
        rows._raw_delete(rows.db)
