"""Judge events, and apply them to a Reader's tables: whole, and only if its constraints hold afterwards.

Rows are written in the order of the entities and deleted in the opposite one. PostgreSQL checks each reference at once;
SQLite checks it only at the end of the transaction, so what the event touches is looked at here as well.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import structlog
from django.db import connections, transaction
from django.utils.translation import gettext_noop

from config.common.database.batches import run_or_bisect
from config.common.database.bulk_insert import insert_rows
from config.common.database.sql import in_number_array
from processes.coordination.protocol.database_errors import FailureKind, classify_error, describe_error
from processes.coordination.protocol.reasons import encode_reason
from processes.coordination.protocol.row_changes import RowChange, fold_changes
from processes.coordination.reader.models import COMMITS, TABLES
from processes.coordination.schema.entities import ENTITIES, IN_ORDER, Entity, Key
from processes.coordination.schema.tables import attribute_columns

NO_ROW = gettext_noop("%(entity)s %(id)s does not exist")
IS_THERE = gettext_noop("%(entity)s %(id)s already exists")
NO_REFERENCE = gettext_noop("%(entity)s %(id)s refers to %(other)s %(missing)s, which does not exist")
STILL_USED = gettext_noop("%(entity)s %(id)s is still referenced by %(other)s")
BATCH = 500

log = structlog.get_logger(__name__)


class Refused(Exception):
    """Applying would break a constraint of this reader."""

    def __init__(self, text: str, **detail: Any) -> None:
        super().__init__(encode_reason(text, **detail))


def judge_events(sets: Mapping[int, list[RowChange]], *, alias: str) -> dict[int, str]:
    """Return why the changes of each event cannot be applied; an empty reason: they can.

    Rows that are missing, or here already, are found for all events at once: a thousand events that are judged again
    are refused at little cost. Of the rest, events that touch none of the same rows are tried together, and in halves
    only if that fails.
    """
    reasons = _judge_rows(sets, alias=alias)
    rest = {event: changes for event, changes in sets.items() if event not in reasons}
    if _are_disjoint(rest.values()):
        return reasons | _judge_together(list(rest), rest, alias=alias)
    return reasons | {event: try_changes(changes, alias=alias) for event, changes in rest.items()}


def _judge_rows(sets: Mapping[int, list[RowChange]], *, alias: str) -> dict[int, str]:
    """Find misfits of all events together, else in halves: an id that cannot even be queried harms no other event."""

    def find(events: Sequence[int]) -> dict[int, str]:
        with transaction.atomic(using=alias):
            return _find_misfits({event: sets[event] for event in events}, alias=alias)

    return _bisect(list(sets), find)


def _bisect(events: list[int], judge: Callable[[Sequence[int]], dict[int, str]]) -> dict[int, str]:
    """Judge events together, else in halves; an event that fails alone has its error for a reason."""

    def refuse(event: int, error: Exception) -> dict[int, str]:
        log.info("coordination.refused", about=event, error=repr(error))
        return {event: describe_error(error)}

    parts = run_or_bisect(events, judge, refuse, is_of_item=lambda error: classify_error(error) is FailureKind.FINAL)
    return {event: reason for part in parts for event, reason in part.items()}


def _find_misfits(sets: Mapping[int, list[RowChange]], *, alias: str) -> dict[int, str]:
    """Return the reasons against events that change a row that is not here, or insert one that is."""
    reasons: dict[int, str] = {}
    for entity in ENTITIES:
        of_it = [(event, each) for event, changes in sets.items() for each in changes if each.entity is entity]
        here = _find_present(entity, [each.id for _, each in of_it], alias=alias) if of_it else set()
        for event, each in of_it:
            if (each.id in here) != (each.before is not None) and event not in reasons:
                text = NO_ROW if each.before is not None else IS_THERE
                reasons[event] = encode_reason(text, entity=entity.name, id=each.id)
    return reasons


def try_changes(changes: list[RowChange], *, alias: str) -> str:
    """Apply changes and roll back at once; return why that fails, or an empty text."""
    try:
        _apply_and_roll_back(changes, alias=alias)
    except Exception as error:
        if classify_error(error) is not FailureKind.FINAL:
            raise  # another try may succeed: that is no verdict
        log.info("coordination.refused", alias=alias, error=repr(error))
        return describe_error(error)
    return ""


def _apply_and_roll_back(changes: list[RowChange], *, alias: str) -> None:
    with transaction.atomic(using=alias):
        apply_changes(changes, alias=alias)
        transaction.set_rollback(True, using=alias)


def apply_changes(changes: list[RowChange], *, alias: str) -> None:
    """Insert, update and delete rows by the changes, and check every reference that they touch."""
    if connections[alias].vendor == "postgresql":
        with connections[alias].cursor() as cursor:
            # Deferred constraints would fail at the commit, where nobody could tell which event is at fault.
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    for entity in IN_ORDER:
        _store(entity, [each for each in changes if each.entity is entity and each.after is not None], alias=alias)
    for entity in reversed(IN_ORDER):
        gone = [each.id for each in changes if each.entity is entity and each.after is None]
        _check_unused(entity, gone, changes, alias=alias)
        for part in _parts(gone):
            TABLES[entity.name].objects.using(alias).filter(pk__in=part)._raw_delete(alias)
    for entity in ENTITIES:
        _check_references(entity, [each for each in changes if each.entity is entity and each.after], alias=alias)


def read_commit_rows(*events: int, alias: str) -> list[RowChange]:
    """Return the changes that the commit rows of events describe; of a row that several change, the last."""
    changes: list[RowChange] = []
    for entity in ENTITIES:
        rows = COMMITS[entity.name].objects.using(alias).filter(app_event_id__in=in_number_array(events, alias=alias))
        names = [column.name for column in entity.columns]
        columns = rows.order_by("number").values_list("entity_id", *(column.attribute for column in entity.columns))
        for pk, *values in columns:
            is_there = any(value is not None for value in values)
            changes.append(RowChange(entity, pk, None, dict(zip(names, values, strict=True)) if is_there else None))
    return fold_changes(changes)


def _are_disjoint(sets: Iterable[list[RowChange]]) -> bool:
    seen: set[Key] = set()
    for changes in sets:
        touched = set().union(*(each.touched for each in changes))
        if not seen.isdisjoint(touched):
            return False
        seen |= touched
    return True


def _judge_together(events: list[int], sets: Mapping[int, list[RowChange]], *, alias: str) -> dict[int, str]:
    def try_all(part: Sequence[int]) -> dict[int, str]:
        _apply_and_roll_back([change for event in part for change in sets[event]], alias=alias)
        return dict.fromkeys(part, "")

    return _bisect(events, try_all)


def _store(entity: Entity, changes: list[RowChange], *, alias: str) -> None:
    if not changes:
        return
    columns = attribute_columns(entity, [each.after for each in changes])
    ids = [each.id for each in changes]
    insert_rows(TABLES[entity.name], {"id": ids, **columns}, alias=alias, update=tuple(columns))


def _check_unused(entity: Entity, ids: list[Any], changes: list[RowChange], *, alias: str) -> None:
    gone = {each.key for each in changes if each.after is None}
    for other in ENTITIES:
        for column in other.references:
            if column.refers != entity.name:
                continue
            for part in _parts(ids):
                rows = TABLES[other.name].objects.using(alias).filter(**{f"{column.attribute}__in": part})
                for pk, used in rows.values_list("pk", column.attribute):
                    if (other.name, str(pk)) not in gone:
                        raise Refused(STILL_USED, entity=entity.name, id=used, other=f"{other.name} {pk}")


def _check_references(entity: Entity, changes: list[RowChange], *, alias: str) -> None:
    for column in entity.references:
        referred = {each.after[column.name]: each.id for each in changes if each.after}
        referred.pop(None, None)
        if not referred:
            continue
        other = next(each for each in ENTITIES if each.name == column.refers)
        missing = referred.keys() - _find_present(other, list(referred), alias=alias)
        if missing:
            first = min(missing, key=str)
            raise Refused(NO_REFERENCE, entity=entity.name, id=referred[first], other=other.name, missing=first)


def _find_present(entity: Entity, ids: list[Any], *, alias: str) -> set[Any]:
    rows = TABLES[entity.name].objects.using(alias)
    return {pk for part in _parts(ids) for pk in rows.filter(pk__in=part).values_list("pk", flat=True)}


def _parts(ids: list[Any]) -> Iterable[list[Any]]:
    """Cut a long list: SQLite limits the number of parameters."""
    return (ids[start : start + BATCH] for start in range(0, len(ids), BATCH))
