"""Sentries: which of their on-parts have happened, and whether their condition holds.

The on-parts that have happened are recorded with the item until its criterion is met, then cleared. A sentry without
on-parts is met when its condition becomes true, not while it is.
"""

from collections.abc import Iterator
from typing import Any

from processes.workflows.engine.case_plan import CasePlan, Criterion, CriterionRole, OnPartReference
from processes.workflows.engine.cases.lifecycle import ENDED, ItemState
from processes.workflows.engine.definition import Definition
from processes.workflows.engine.execution.records import ItemRecord
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.variables import try_evaluate
from processes.workflows.engine.expressions import ExpressionFailed


def notify_sentries(work: UnitOfWork, key: str, event: str, criterion: str = "") -> None:
    """Record an item's transition with every criterion in the same stage that waits for it."""
    record = work.items[key]
    plan = get_plan(work.definition(record["scope"]))
    for on_part in plan.on_parts.get((record["element"], event), ()):
        place = _find_stage_scope(work, record["scope"], on_part.common)
        around = None
        if plan.items[on_part.item].criteria[on_part.criterion].role is CriterionRole.EXIT:
            # What happens in one run of a stage does not end another run of it.
            stage = _find_stage_scope(work, record["scope"], on_part.item)
            around = None if stage is None else work.scopes[stage]["token"]
        for other in work.items_of_element(on_part.item):
            # An item's own transitions do not count for its criteria.
            if other == key or around not in (None, other):
                continue
            if _find_stage_scope(work, work.items[other]["scope"], on_part.common) == place:
                _record_on_part(work, other, on_part, criterion)


def notify_variable_changes(work: UnitOfWork) -> None:
    """Record the written variables with every criterion that waits for a case file item."""
    while work.file_changes:
        scope, name, before, after = work.file_changes.pop(0)
        plan = get_plan(work.definition(scope))
        for file, path in plan.files.items():
            if path[0] == name:
                for event in _name_file_events(_get_part(before, path[1:]), _get_part(after, path[1:])):
                    _notify_file_event(work, scope, plan, file, event)


def check_sentry_conditions(work: UnitOfWork) -> None:
    """Evaluate the conditions of all open criteria again, because variables have changed."""
    if not work.has_sentry_conditions():
        return
    for key in work.items.keys_in_order():
        record = work.items.get(key)
        if record is None:
            continue
        plan = get_plan(work.definition(record["scope"]))
        if record["element"] not in plan.items_with_conditions:
            continue
        for place, criterion in enumerate(plan.items[record["element"]].criteria):
            if criterion.sentry.condition is not None and is_criterion_open(work.items[key], criterion.role):
                _check_condition(work, key, place, criterion)


def is_criterion_open(record: ItemRecord, role: CriterionRole) -> bool:
    """Return whether a criterion of this role can be met in the state that its item is in."""
    if role is CriterionRole.EXIT:
        return record["state"] not in (*ENDED, ItemState.SUSPENDED, ItemState.CLOSED)
    return record["state"] == ItemState.AVAILABLE


def get_plan(definition: Definition) -> CasePlan:
    if definition.plan is None:
        raise ValueError(f"{definition.key} is not a case.")
    return definition.plan


def get_case_scope(work: UnitOfWork, scope: str) -> str:
    """Return the scope of the innermost case or process around a scope."""
    while "definition" not in work.scopes[scope]:
        scope = work.scopes[scope]["parent"] or ""
    return scope


def _record_on_part(work: UnitOfWork, key: str, on_part: OnPartReference, by: str = "") -> None:
    record = work.items[key]
    criterion = get_plan(work.definition(record["scope"])).items[record["element"]].criteria[on_part.criterion]
    part = criterion.sentry.on[on_part.part]
    work.budget.count_checks(record["element"])
    if not is_criterion_open(record, criterion.role) or (part.criterion and part.criterion != by):
        return
    name = str(on_part.criterion)
    heard = record.get("heard", {})
    parts = sorted({*heard.get(name, ()), on_part.part})
    work.items.put(key, {**record, "heard": {**heard, name: parts}})
    _meet_if_satisfied(work, key, on_part.criterion, criterion)


def _check_condition(work: UnitOfWork, key: str, place: int, criterion: Criterion) -> None:
    if criterion.sentry.on:
        _meet_if_satisfied(work, key, place, criterion)
        return
    record = work.items[key]
    held = record.get("held", [])
    does_hold = _is_condition_true(work, record, criterion)
    if does_hold and place not in held:
        work.items.put(key, {**record, "held": [*held, place]})
        work.enqueue("met", key, place)
    elif not does_hold and place in held:
        work.items.put(key, {**record, "held": [other for other in held if other != place]})


def _meet_if_satisfied(work: UnitOfWork, key: str, place: int, criterion: Criterion) -> None:
    record = work.items[key]
    heard = record.get("heard", {})
    if len(heard.get(str(place), ())) < len(criterion.sentry.on) or not _is_condition_true(work, record, criterion):
        return
    left = {name: parts for name, parts in heard.items() if name != str(place)}
    emptied: ItemRecord = {**record, "heard": left}
    if not left:
        del emptied["heard"]
    work.items.put(key, emptied)
    # Queued, so that all criteria have recorded this transition before any item moves.
    work.enqueue("met", key, place)


def _is_condition_true(work: UnitOfWork, record: ItemRecord, criterion: Criterion) -> bool:
    condition = criterion.sentry.condition
    if condition is None:
        return True
    try:
        return bool(try_evaluate(work, condition, record["scope"], record["element"]))
    except ExpressionFailed:
        # A condition over what is not in the case file yet has no value: it goes on waiting.
        return False


def _find_stage_scope(work: UnitOfWork, scope: str | None, element: str) -> str | None:
    """Return the scope of the nearest run of a stage around a scope, the scope itself included; None outside."""
    while scope is not None:
        record = work.scopes[scope]
        if record["element"] == element:
            return scope
        scope = None if "definition" in record else record["parent"]
    return None


def _notify_file_event(work: UnitOfWork, scope: str, plan: CasePlan, file: str, event: str) -> None:
    for on_part in plan.on_parts.get((file, event), ()):
        for key in work.items_of_element(on_part.item):
            if get_case_scope(work, work.items[key]["scope"]) == scope:
                _record_on_part(work, key, on_part)


def _get_part(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _name_file_events(before: Any, after: Any) -> Iterator[str]:
    """Yield the standard events of a case file item whose value has changed; absent and null are the same."""
    if before is None or after is None:
        if before is not after:
            yield "create" if before is None else "delete"
        return
    if before == after and type(before) is type(after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        yield from ("addChild" for name in after if name not in before)
        yield from ("removeChild" for name in before if name not in after)
    yield from ("update", "replace")
