"""Errors: they go outwards until something catches them."""

from collections.abc import Iterable

from processes.workflows.engine.definition import Definition, Node, Trigger
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.scopes import interrupt_activity, start_event_sub_process
from processes.workflows.engine.execution.unit_of_work import UnitOfWork


def raise_error(work: UnitOfWork, token: str, code: str, reason: str) -> None:
    """Raise an error at an activity: its own boundary events are asked first."""
    record = work.tokens[token]
    if not _is_caught_at(work, token, code):
        raise_in_scope(work, record["scope"], code, origin=record["element"], reason=reason)


def raise_in_scope(work: UnitOfWork, scope: str, code: str, *, origin: str, reason: str = "") -> None:
    """Hand an error to the nearest event sub-process or boundary event that catches it."""
    while True:
        start = _event_sub_process(work, scope, code)
        if start is not None:
            start_event_sub_process(work, scope, start)
            return
        token = work.scopes[scope]["token"]
        if token is None:
            raise CommandFailed(origin, reason or f"Nothing catches the error {code}.")
        if token in work.items:
            work.at_once("fail_task", token)
            return
        if _is_caught_at(work, token, code):
            return
        scope = work.tokens[token]["scope"]


def _is_caught_at(work: UnitOfWork, token: str, code: str) -> bool:
    record = work.tokens[token]
    boundary = _boundary(work, record["scope"], record["element"], code)
    if boundary is not None:
        interrupt_activity(work, token, boundary.id)
    return boundary is not None


def _boundary(work: UnitOfWork, scope: str, element: str, code: str) -> Node | None:
    if "loop" in work.scopes[scope]:
        return None  # boundary events belong to the activity as a whole, not to one of its rounds
    definition = work.definition(scope)
    return _matching(definition, definition.boundaries.get(element, ()), code)


def _event_sub_process(work: UnitOfWork, scope: str, code: str) -> Node | None:
    record = work.scopes[scope]
    if record.get("wraps") or record.get("interrupted"):
        return None
    definition = work.definition(scope)
    sub_processes = definition.event_sub_processes.get(record["element"], ())
    starts = [start for sub_process in sub_processes for start in definition.starts.get(sub_process, ())]
    return _matching(definition, starts, code)


def _matching(definition: Definition, events: Iterable[str], code: str) -> Node | None:
    """Give the event that catches this very error, else one that catches any."""
    catches_any = None
    for event in events:
        node = definition.nodes[event]
        if node.event is None or node.event.trigger is not Trigger.ERROR:
            continue
        if node.event.name == code:
            return node
        if node.event.name == "" and catches_any is None:
            catches_any = node
    return catches_any
