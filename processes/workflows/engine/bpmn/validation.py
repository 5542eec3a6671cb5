"""Rules between the parts of a process: start events of scopes, places of events, conditions of flows."""

from collections.abc import Callable

from processes.workflows.engine.bpmn.nodes import ACTIVITIES, EVENTS
from processes.workflows.engine.definition import BpmnEvent, Definition, Flow, Node, NodeKind, ScopeDefinition, Trigger
from processes.workflows.engine.event_names import LONGEST_NAME, can_be_event
from processes.workflows.engine.problems import Problems


def validate_process(definition: Definition, problems: Problems, *, line: int) -> None:
    """Add the problems of a process; `line` is where it begins in the file."""
    for scope in definition.scopes.values():
        _check_scope(definition, scope, problems, line)
    for node in definition.nodes.values():
        check_flows(definition, node, problems)
        if node.kind in EVENTS:
            check_event(definition, node, problems)


def _check_scope(definition: Definition, scope: ScopeDefinition, problems: Problems, line: int) -> None:
    starts = [definition.nodes[start] for start in definition.starts.get(scope.id, ())]
    holder = definition.nodes.get(scope.id)
    if holder is None:
        _check_starts_of_process(scope, starts, problems, line)
    elif holder.kind is NodeKind.EVENT_SUB_PROCESS and not starts:
        problems.add(scope.id, holder.line, "An event sub-process has a start event.")
    elif holder.kind is NodeKind.SUB_PROCESS and len(starts) != 1:
        problems.add(scope.id, holder.line, "A sub-process has exactly one start event.")


def _check_starts_of_process(scope: ScopeDefinition, starts: list[Node], problems: Problems, line: int) -> None:
    if not starts:
        problems.add(scope.id, line, "The process has no start event.")
    plain = [start for start in starts if start.event is not None and start.event.trigger is Trigger.NONE]
    for start in plain[1:]:
        problems.add(start.id, start.line, "The process already has a start event without a trigger.")
    if starts and all(_is_unreachable(start) for start in starts):
        for start in starts:
            message = f"Nothing could start the process: the name of its event has more than {LONGEST_NAME} characters."
            problems.add(start.id, start.line, message)


def _is_unreachable(start: Node) -> bool:
    """Return whether a start event waits for a name that no event can have."""
    event = start.event
    return event is not None and event.trigger in (Trigger.MESSAGE, Trigger.SIGNAL) and not can_be_event(event.name)


def check_event(definition: Definition, node: Node, problems: Problems) -> None:
    if node.event is None:
        return
    place, allowed = _find_place(definition, node)
    if node.event.trigger not in allowed:
        message = f"{place} cannot be of the type {node.event.trigger}: only {', '.join(allowed)}."
        problems.add(node.id, node.line, message)
    _check_error(node, node.event, problems)
    _check_compensation(definition, node, node.event, problems)
    if node.kind is NodeKind.BOUNDARY:
        _check_boundary(definition, node, problems)


_WAITING = (Trigger.MESSAGE, Trigger.SIGNAL, Trigger.TIMER, Trigger.CONDITION)
_PLACES: dict[NodeKind, tuple[str, tuple[Trigger, ...]]] = {
    NodeKind.END: (
        "An end event",
        (
            Trigger.NONE,
            Trigger.ERROR,
            Trigger.SIGNAL,
            Trigger.MESSAGE,
            Trigger.TERMINATE,
            Trigger.COMPENSATION,
            Trigger.ESCALATION,
            Trigger.CANCEL,
        ),
    ),
    NodeKind.CATCH: ("An intermediate catch event", _WAITING),
    NodeKind.THROW: (
        "An intermediate throw event",
        (Trigger.NONE, Trigger.MESSAGE, Trigger.SIGNAL, Trigger.COMPENSATION, Trigger.ESCALATION),
    ),
    NodeKind.BOUNDARY: (
        "A boundary event",
        (*_WAITING, Trigger.ERROR, Trigger.COMPENSATION, Trigger.ESCALATION, Trigger.CANCEL),
    ),
}
_STARTS: dict[NodeKind | None, tuple[str, tuple[Trigger, ...]]] = {
    None: ("The start event of a process", (Trigger.NONE, *_WAITING)),
    NodeKind.SUB_PROCESS: ("The start event of a sub-process", (Trigger.NONE,)),
    NodeKind.EVENT_SUB_PROCESS: (
        "The start event of an event sub-process",
        (*_WAITING, Trigger.ERROR, Trigger.ESCALATION, Trigger.COMPENSATION),
    ),
}


def _find_place(definition: Definition, node: Node) -> tuple[str, tuple[Trigger, ...]]:
    if node.kind is not NodeKind.START:
        return _PLACES[node.kind]
    holder = definition.nodes.get(node.scope)
    return _STARTS[holder.kind if holder is not None else None]


def _check_error(node: Node, event: BpmnEvent, problems: Problems) -> None:
    if event.trigger is Trigger.ESCALATION and node.kind in (NodeKind.END, NodeKind.THROW) and not event.name:
        problems.add(node.id, node.line, "An escalation that is thrown needs a code.")
    if event.trigger is not Trigger.ERROR:
        return
    if node.kind is NodeKind.END and not event.name:
        problems.add(node.id, node.line, "An error end event needs an error with a code.")
    if not node.is_interrupting:
        problems.add(node.id, node.line, "An error always interrupts: the event cannot be non-interrupting.")


def _check_compensation(definition: Definition, node: Node, event: BpmnEvent, problems: Problems) -> None:
    if event.trigger is not Trigger.COMPENSATION or node.kind is NodeKind.BOUNDARY or not event.name:
        return
    activity = definition.nodes.get(event.name)
    if activity is None or activity.kind not in ACTIVITIES:
        problems.add(node.id, node.line, "activityRef is not an activity of the process.")


def _check_boundary(definition: Definition, node: Node, problems: Problems) -> None:
    host = definition.nodes.get(node.attached_to or "")
    if host is None or host.kind not in ACTIVITIES:
        problems.add(node.id, node.line, "A boundary event is attached to an activity.")
    elif host.scope != node.scope:
        problems.add(node.id, node.line, "A boundary event lies in the same scope as its activity.")


def check_flows(definition: Definition, node: Node, problems: Problems) -> None:
    if node.incoming and (reason := _describe_without_incoming(node)):
        problems.add(node.id, node.line, f"{reason} has no incoming sequence flow.")
    if node.outgoing and (reason := _describe_without_outgoing(node)):
        problems.add(node.id, node.line, f"{reason} has no outgoing sequence flow.")
    check = _CHECKS.get(node.kind)
    if check is not None:
        check(definition, node, problems)


def _describe_without_incoming(node: Node) -> str:
    if node.is_for_compensation:
        return "An activity for compensation"
    return _WITHOUT_INCOMING.get(node.kind, "")


def _describe_without_outgoing(node: Node) -> str:
    if node.is_for_compensation:
        return "An activity for compensation"
    if node.kind is NodeKind.BOUNDARY and node.event is not None and node.event.trigger is Trigger.COMPENSATION:
        return "A compensation boundary event"
    return _WITHOUT_OUTGOING.get(node.kind, "")


_WITHOUT_INCOMING = {
    NodeKind.START: "A start event",
    NodeKind.BOUNDARY: "A boundary event",
    NodeKind.EVENT_SUB_PROCESS: "An event sub-process",
}
_WITHOUT_OUTGOING = {NodeKind.END: "An end event", NodeKind.EVENT_SUB_PROCESS: "An event sub-process"}


def _check_exclusive(definition: Definition, node: Node, problems: Problems) -> None:
    """Require a condition on every flow but the default one: otherwise it is open which of several is taken."""
    if len(node.outgoing) < 2:
        return
    for flow in _list_outgoing(definition, node):
        # A condition that could not be compiled is absent here, and a problem already.
        if flow.condition is None and flow.id != node.default and not problems.has_problem_with(flow.id):
            problems.add(flow.id, flow.line, "It leaves an exclusive gateway: it needs a condition, or is the default.")


def _check_parallel(definition: Definition, node: Node, problems: Problems) -> None:
    for flow in _list_outgoing(definition, node):
        if flow.condition is not None:
            problems.add(flow.id, flow.line, f"A flow that leaves {_WHOLE[node.kind]} has no condition.")


def _check_event_based(definition: Definition, node: Node, problems: Problems) -> None:
    _check_parallel(definition, node, problems)
    if not node.outgoing:
        problems.add(node.id, node.line, "An event-based gateway needs an outgoing sequence flow.")
    for flow in _list_outgoing(definition, node):
        if definition.nodes[flow.target].kind not in (NodeKind.CATCH, NodeKind.RECEIVE_TASK):
            message = "After an event-based gateway come intermediate catch events and receive tasks alone."
            problems.add(flow.target, definition.nodes[flow.target].line, message)


_WHOLE = {NodeKind.PARALLEL: "a parallel gateway", NodeKind.EVENT_BASED: "an event-based gateway"}
_CHECKS: dict[NodeKind, Callable[[Definition, Node, Problems], None]] = {
    NodeKind.EXCLUSIVE: _check_exclusive,
    NodeKind.PARALLEL: _check_parallel,
    NodeKind.EVENT_BASED: _check_event_based,
}


def _list_outgoing(definition: Definition, node: Node) -> list[Flow]:
    return [definition.flows[flow] for flow in node.outgoing]
