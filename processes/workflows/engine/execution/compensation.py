"""Compensation: completed activities are logged and undone in reverse order."""

from collections.abc import Sequence
from typing import cast

from processes.workflows.engine.definition import Node, Trigger
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.flows import leave_element
from processes.workflows.engine.execution.limits import MAX_ENTRIES
from processes.workflows.engine.execution.records import (
    CompensationEntry,
    ScopeRecord,
    UndoRecord,
    Variables,
)
from processes.workflows.engine.execution.scopes import open_scope, start_event_sub_process
from processes.workflows.engine.execution.unit_of_work import UnitOfWork


def record_completed(
    work: UnitOfWork, token: str, node: Node, *, inner: Sequence[CompensationEntry], ended: ScopeRecord | None
) -> None:
    """Log a completed activity that can be compensated.

    The variables of scopes that end with it, its own and its round's, are kept for the compensating activity.
    """
    scope = work.tokens[token]["scope"]
    around = work.scopes[scope]
    entry = _make_entry(work, scope, node, inner, ended)
    if entry is None:
        return
    variables: Variables = dict(ended["variables"]) if ended is not None else {}
    if "loop" in around:
        entry["scope"] = cast(str, around["parent"])
        variables = {**around["variables"], **variables}
    if variables:
        entry["variables"] = variables
        work.budget.add_size(work.budget.measure(variables, node.id), node.id)
    _append_entry(work, entry, around.get("loop"))


def record_completed_rounds(work: UnitOfWork, entries: list[CompensationEntry]) -> None:
    """Log the completed rounds of an activity that is completed as a whole."""
    if entries:
        _log_entries(work, entries)


def compensate(work: UnitOfWork, token: str, element: str) -> None:
    """Compensate an activity, or everything in the scope, then send the token on."""
    scope = _find_compensated_scope(work, work.tokens[token]["scope"], element)
    entries = work.compensations.take(scope, element) if scope is not None else []
    if not entries or scope is None:
        leave_compensation(work, token)
        return
    _compensate_next(work, _start_compensating(work, token, scope, entries, within=None))


def finish_compensation(work: UnitOfWork, scope: str) -> None:
    """Continue with the next entry when the compensation of one is finished."""
    record = work.remove_scope(scope)
    _compensate_next(work, record["undo"])


def leave_compensation(work: UnitOfWork, token: str) -> None:
    """Send on the thrower of a compensation that is done; of a cancelled transaction its cancel event continues."""
    if work.node(token).trigger is Trigger.CANCEL:
        # By the queue, because `events` imports this module.
        work.enqueue_first("cancel_transaction", token)
    else:
        leave_element(work, token)


def _make_entry(
    work: UnitOfWork, scope: str, node: Node, inner: Sequence[CompensationEntry], ended: ScopeRecord | None
) -> CompensationEntry | None:
    if node.compensated_by is not None:
        return {"element": node.id, "scope": scope, "handler": node.compensated_by}
    if ended is None or (not inner and _find_compensation_start(work, scope, node.id) is None):
        return None
    # Their scope ends with the activity; they get the one that is opened to compensate them in.
    parts: list[CompensationEntry] = [{**part, "scope": ""} for part in inner]
    entry: CompensationEntry = {"element": node.id, "scope": scope, "inner": parts}
    if "definition" in ended:
        entry["definition"] = ended["definition"]
    return entry


def _append_entry(work: UnitOfWork, entry: CompensationEntry, loop: str | None) -> None:
    if loop is not None:
        # A round can be compensated only after the activity is completed as a whole.
        record = work.loops[loop]
        work.loops.put(loop, {**record, "entries": [*record["entries"], entry]})
    else:
        _log_entries(work, [entry])


def _log_entries(work: UnitOfWork, entries: list[CompensationEntry]) -> None:
    if len(work.compensations) + len(entries) > MAX_ENTRIES:
        raise CommandFailed(
            entries[0]["element"], f"More than {MAX_ENTRIES} completed activities could be compensated."
        )
    work.compensations.extend(entries)


def _find_compensated_scope(work: UnitOfWork, scope: str | None, element: str) -> str | None:
    """Return the scope a compensation event refers to: its own, or that around its event sub-process."""
    while scope is not None:
        record = work.scopes[scope]
        definition = work.definition(scope)
        if element:
            if element in definition.nodes and definition.nodes[element].scope == record["element"]:
                return scope
        elif not _is_event_sub_process(work, scope, record):
            return scope
        scope = None if "definition" in record else record["parent"]
    return None


def _is_event_sub_process(work: UnitOfWork, scope: str, record: ScopeRecord) -> bool:
    around = record["parent"]
    if around is None or "definition" in record:
        return False
    sub_processes = work.definition(scope).event_sub_processes.get(work.scopes[around]["element"], ())
    return record["element"] in sub_processes


def _start_compensating(
    work: UnitOfWork, token: str, scope: str, entries: list[CompensationEntry], within: str | None
) -> str:
    record: UndoRecord = {
        "element": work.tokens[token]["element"],
        "token": token,
        "scope": scope,
        "entries": entries,
        "within": within,
    }
    return work.add(work.undoing, record)


def _compensate_next(work: UnitOfWork, key: str) -> None:
    record = work.undoing[key]
    if record["entries"]:
        entry = record["entries"][-1]
        work.undoing.put(key, {**record, "entries": record["entries"][:-1]})
        weight = work.budget.measure(entry.get("variables", {}), entry["element"])
        work.budget.add_size(-weight, entry["element"])
        _compensate_entry(work, key, record, entry)
        return
    work.remove(work.undoing, key)
    if record["within"] is not None:
        finish_compensation(work, record["within"])
    else:
        leave_compensation(work, record["token"])


def _compensate_entry(work: UnitOfWork, key: str, record: UndoRecord, entry: CompensationEntry) -> None:
    if "handler" in entry:
        scope = open_scope(work, {**_make_scope_record(key, record, entry), "element": entry["handler"], "wraps": True})
        work.enqueue("enter", work.add_token(scope, entry["handler"]), None)
        return
    scope = _reopen_scope(work, key, record, entry)
    inner: list[CompensationEntry] = [{**part, "scope": scope} for part in entry.get("inner", [])]
    start = _find_compensation_start(work, scope, work.scopes[scope]["element"])
    if start is None:
        _compensate_next(work, _start_compensating(work, record["token"], scope, inner, within=scope))
        return
    work.compensations.extend(inner)
    start_event_sub_process(work, scope, start)


def _reopen_scope(work: UnitOfWork, key: str, record: UndoRecord, entry: CompensationEntry) -> str:
    """Open a scope like the one the sub-process or called process had, to compensate its parts in."""
    scope = _make_scope_record(key, record, entry)
    if "definition" in entry:
        scope = {**scope, "definition": entry["definition"], "element": entry["definition"][0]}
    return open_scope(work, scope)


def _make_scope_record(key: str, record: UndoRecord, entry: CompensationEntry) -> ScopeRecord:
    return {
        "element": entry["element"],
        "parent": record["scope"],
        "token": record["token"],
        "variables": entry.get("variables", {}),
        "undo": key,
    }


def _find_compensation_start(work: UnitOfWork, scope: str, element: str) -> Node | None:
    """Return the start of the event sub-process that compensates the sub-process around it."""
    definition = work.definition(scope)
    for sub_process in definition.event_sub_processes.get(element, ()):
        for start in definition.starts.get(sub_process, ()):
            node = definition.nodes[start]
            if node.trigger is Trigger.COMPENSATION:
                return node
    return None
