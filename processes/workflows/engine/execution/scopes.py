"""Scopes: how they are opened and begun, and how events interrupt what runs in them."""

from collections.abc import Sequence

from processes.workflows.engine.definition import Definition, Node, NodeKind, Trigger
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.limits import MAX_SCOPES_DEEP
from processes.workflows.engine.execution.records import ScopeRecord
from processes.workflows.engine.execution.triggers import arm_event
from processes.workflows.engine.execution.unit_of_work import UnitOfWork
from processes.workflows.engine.execution.visits import note_entry


def open_scope(work: UnitOfWork, record: ScopeRecord) -> str:
    _check_depth(work, record)
    work.budget.add_size(work.budget.measure(record["variables"], record["element"]), record["element"])
    return work.add(work.scopes, record)


def _check_depth(work: UnitOfWork, record: ScopeRecord) -> None:
    """Fail past the bound: compensation entries nest as deep as scopes, and are walked and serialized recursively."""
    depth, parent = 1, record["parent"]
    while parent is not None:
        depth, parent = depth + 1, work.scopes[parent]["parent"]
    if depth > MAX_SCOPES_DEEP:
        reason = f"More than {MAX_SCOPES_DEEP} sub-processes, rounds and calls would lie inside one another."
        raise CommandFailed(record["element"], reason)


def begin_scope(work: UnitOfWork, scope: str, starts: Sequence[str] = ()) -> None:
    """Put tokens on the first elements of a scope and arm its event sub-processes."""
    element = work.scopes[scope]["element"]
    for start in starts or find_first_elements(work.definition(scope), element):
        work.enqueue("enter", work.add_token(scope, start), None)
    _arm_event_sub_processes(work, element, scope)


def _arm_event_sub_processes(work: UnitOfWork, element: str, scope: str) -> None:
    definition = work.definition(scope)
    for sub_process in definition.event_sub_processes.get(element, ()):
        for start in definition.starts.get(sub_process, ()):
            event = definition.nodes[start]
            arm_event(work, event, scope, None, is_persistent=not event.is_interrupting)


def find_first_elements(definition: Definition, scope: str) -> Sequence[str]:
    """Return the start event without a trigger; without any start event, all elements without incoming flows."""
    starts = definition.starts.get(scope, ())
    plain = [start for start in starts if definition.nodes[start].trigger is Trigger.NONE]
    if plain:
        return plain[:1]
    if starts:
        raise CommandFailed(scope, "There is no start event without a trigger.")
    found = [element for element in definition.scopes[scope].nodes if _is_first(definition.nodes[element])]
    if not found:
        raise CommandFailed(scope, "There is no element to start with.")
    return found


def interrupt_activity(work: UnitOfWork, token: str, boundary: str) -> None:
    """Cancel an activity and move its token to a boundary event."""
    record = work.tokens[token]
    work.cancel_owned(token)
    if "loop" not in record:
        work.trace.append(("cancel", record["element"]))
    work.move_token(token, boundary)
    work.enqueue("enter", token, None)


def start_event_sub_process(work: UnitOfWork, scope: str, start: Node) -> None:
    """Start an event sub-process in its scope; an interrupting one cancels everything else there first."""
    if start.is_interrupting:
        work.cancel_owned(scope)
        # An error out of the event sub-process goes to the outer scope, not to another one of this scope.
        work.scopes.put(scope, {**work.scopes[scope], "interrupted": True})
    token = work.add_token(scope, start.scope)
    note_entry(work, scope, start.scope)
    inner = open_scope(work, {"element": start.scope, "parent": scope, "token": token, "variables": {}})
    begin_scope(work, inner, (start.id,))


def _is_first(node: Node) -> bool:
    passive = node.kind in (NodeKind.BOUNDARY, NodeKind.EVENT_SUB_PROCESS) or node.is_for_compensation
    return not node.incoming and not passive
