"""Compensation: what is done can be undone, the last thing first."""

from collections.abc import Sequence
from typing import cast

from processes.workflows.engine.definition import Node, Trigger
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.flows import leave
from processes.workflows.engine.execution.limits import MAX_ENTRIES
from processes.workflows.engine.execution.records import (
    CompensationEntry,
    ScopeRecord,
    UndoRecord,
    Variables,
)
from processes.workflows.engine.execution.scopes import open_scope, start_event_sub_process
from processes.workflows.engine.execution.unit_of_work import UnitOfWork


def remember(
    work: UnitOfWork, token: str, node: Node, *, inner: Sequence[CompensationEntry], ended: ScopeRecord | None
) -> None:
    """Note an activity that is done, when there is a way to undo it.

    What it saw in scopes that are gone by then, its own and its round's, is kept for the one that undoes it.
    """
    scope = work.tokens[token]["scope"]
    around = work.scopes[scope]
    entry = _entry(work, scope, node, inner, ended)
    if entry is None:
        return
    variables: Variables = dict(ended["variables"]) if ended is not None else {}
    if "loop" in around:
        entry["scope"] = cast(str, around["parent"])
        variables = {**around["variables"], **variables}
    if variables:
        entry["variables"] = variables
        work.allowance.grow(work.allowance.weigh(variables, node.id), node.id)
    _append(work, entry, around.get("loop"))


def remember_rounds(work: UnitOfWork, entries: list[CompensationEntry]) -> None:
    """Note the rounds of an activity that is done as a whole."""
    if entries:
        _note(work, entries)


def compensate(work: UnitOfWork, token: str, element: str) -> None:
    """Undo an activity, or everything in the scope, then let the token go on."""
    scope = _scope_to_undo(work, work.tokens[token]["scope"], element)
    entries = work.log.take(scope, element) if scope is not None else []
    if not entries or scope is None:
        leave(work, token)
        return
    _undo_next(work, _start_undoing(work, token, scope, entries, within=None))


def end_undone(work: UnitOfWork, scope: str) -> None:
    """Go on when one thing is undone."""
    record = work.drop_scope(scope)
    _undo_next(work, record["undo"])


def _entry(
    work: UnitOfWork, scope: str, node: Node, inner: Sequence[CompensationEntry], ended: ScopeRecord | None
) -> CompensationEntry | None:
    if node.compensated_by is not None:
        return {"element": node.id, "scope": scope, "handler": node.compensated_by}
    if ended is None or (not inner and _start_in(work, scope, node.id) is None):
        return None
    parts: list[CompensationEntry] = [{**part, "scope": ""} for part in inner]
    entry: CompensationEntry = {"element": node.id, "scope": scope, "inner": parts}
    if "definition" in ended:
        entry["definition"] = ended["definition"]
    return entry


def _append(work: UnitOfWork, entry: CompensationEntry, loop: str | None) -> None:
    if loop is not None:
        record = work.loops[loop]
        work.loops.put(loop, {**record, "entries": [*record["entries"], entry]})
    else:
        _note(work, [entry])


def _note(work: UnitOfWork, entries: list[CompensationEntry]) -> None:
    if len(work.log) + len(entries) > MAX_ENTRIES:
        raise CommandFailed(entries[0]["element"], f"More than {MAX_ENTRIES} activities could be undone.")
    work.log.extend(entries)


def _scope_to_undo(work: UnitOfWork, scope: str | None, element: str) -> str | None:
    """Give the scope the thrower speaks of: its own, or the one around an event sub-process."""
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


def _start_undoing(
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


def _undo_next(work: UnitOfWork, key: str) -> None:
    record = work.undoing[key]
    if record["entries"]:
        entry = record["entries"][-1]
        work.undoing.put(key, {**record, "entries": record["entries"][:-1]})
        weight = work.allowance.weigh(entry.get("variables", {}), entry["element"])
        work.allowance.grow(-weight, entry["element"])
        _undo(work, key, record, entry)
        return
    work.drop(work.undoing, key)
    if record["within"] is not None:
        end_undone(work, record["within"])
    else:
        leave(work, record["token"])


def _undo(work: UnitOfWork, key: str, record: UndoRecord, entry: CompensationEntry) -> None:
    if "handler" in entry:
        scope = open_scope(work, {**_scope_record(key, record, entry), "element": entry["handler"], "wraps": True})
        work.later("enter", work.add_token(scope, entry["handler"]), None)
        return
    scope = _reopen(work, key, record, entry)
    inner: list[CompensationEntry] = [{**part, "scope": scope} for part in entry.get("inner", [])]
    start = _start_in(work, scope, work.scopes[scope]["element"])
    if start is None:
        _undo_next(work, _start_undoing(work, record["token"], scope, inner, within=scope))
        return
    work.log.extend(inner)
    start_event_sub_process(work, scope, start)


def _reopen(work: UnitOfWork, key: str, record: UndoRecord, entry: CompensationEntry) -> str:
    """Make a scope like the one that a sub-process or a called process had, to undo its parts in."""
    scope = _scope_record(key, record, entry)
    if "definition" in entry:
        scope = {**scope, "definition": entry["definition"], "element": entry["definition"][0]}
    return open_scope(work, scope)


def _scope_record(key: str, record: UndoRecord, entry: CompensationEntry) -> ScopeRecord:
    return {
        "element": entry["element"],
        "parent": record["scope"],
        "token": record["token"],
        "variables": entry.get("variables", {}),
        "undo": key,
    }


def _start_in(work: UnitOfWork, scope: str, element: str) -> Node | None:
    """Give the start of the event sub-process that undoes the sub-process it lies in."""
    definition = work.definition(scope)
    for sub_process in definition.event_sub_processes.get(element, ()):
        for start in definition.starts.get(sub_process, ()):
            node = definition.nodes[start]
            if node.event is not None and node.event.trigger is Trigger.COMPENSATION:
                return node
    return None
