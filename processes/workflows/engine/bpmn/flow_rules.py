"""Which sequence flows may come and go, and which of them need a condition."""

from collections.abc import Callable

from processes.workflows.engine.definition import Definition, Flow, Node, NodeKind, Trigger
from processes.workflows.engine.problems import Problems


def check_flows(definition: Definition, node: Node, problems: Problems) -> None:
    if node.incoming and (reason := _no_incoming(node)):
        problems.add(node.id, node.line, f"{reason} has no incoming sequence flow.")
    if node.outgoing and (reason := _no_outgoing(node)):
        problems.add(node.id, node.line, f"{reason} has no outgoing sequence flow.")
    check = _CHECKS.get(node.kind)
    if check is not None:
        check(definition, node, problems)


def _no_incoming(node: Node) -> str:
    if node.is_for_compensation:
        return "An activity for compensation"
    return _WITHOUT_INCOMING.get(node.kind, "")


def _no_outgoing(node: Node) -> str:
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
    """Of several flows each but the default one needs a condition: without one it is open which is taken."""
    if len(node.outgoing) < 2:
        return
    for flow in _leaving(definition, node):
        if flow.condition is None and flow.id != node.default and not problems.tells_of(flow.id):
            problems.add(flow.id, flow.line, "It leaves an exclusive gateway: it needs a condition, or is the default.")


def _check_parallel(definition: Definition, node: Node, problems: Problems) -> None:
    for flow in _leaving(definition, node):
        if flow.condition is not None:
            problems.add(flow.id, flow.line, f"A flow that leaves {_WHOLE[node.kind]} has no condition.")


def _check_event_based(definition: Definition, node: Node, problems: Problems) -> None:
    _check_parallel(definition, node, problems)
    if not node.outgoing:
        problems.add(node.id, node.line, "An event-based gateway needs an outgoing sequence flow.")
    for flow in _leaving(definition, node):
        if definition.nodes[flow.target].kind not in (NodeKind.CATCH, NodeKind.RECEIVE_TASK):
            message = "After an event-based gateway come intermediate catch events and receive tasks alone."
            problems.add(flow.target, definition.nodes[flow.target].line, message)


_WHOLE = {NodeKind.PARALLEL: "a parallel gateway", NodeKind.EVENT_BASED: "an event-based gateway"}
_CHECKS: dict[NodeKind, Callable[[Definition, Node, Problems], None]] = {
    NodeKind.EXCLUSIVE: _check_exclusive,
    NodeKind.PARALLEL: _check_parallel,
    NodeKind.EVENT_BASED: _check_event_based,
}


def _leaving(definition: Definition, node: Node) -> list[Flow]:
    return [definition.flows[flow] for flow in node.outgoing]
