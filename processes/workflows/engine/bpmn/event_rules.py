"""Which events may stand where."""

from processes.workflows.engine.bpmn.nodes import ACTIVITIES
from processes.workflows.engine.definition import BpmnEvent, Definition, Node, NodeKind, Trigger
from processes.workflows.engine.problems import Problems


def check_event(definition: Definition, node: Node, problems: Problems) -> None:
    if node.event is None:
        return
    place, allowed = _place(definition, node)
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
        ),
    ),
    NodeKind.CATCH: ("An intermediate catch event", _WAITING),
    NodeKind.THROW: (
        "An intermediate throw event",
        (Trigger.NONE, Trigger.MESSAGE, Trigger.SIGNAL, Trigger.COMPENSATION),
    ),
    NodeKind.BOUNDARY: ("A boundary event", (*_WAITING, Trigger.ERROR, Trigger.COMPENSATION)),
}
_STARTS: dict[NodeKind | None, tuple[str, tuple[Trigger, ...]]] = {
    None: ("The start event of a process", (Trigger.NONE, *_WAITING)),
    NodeKind.SUB_PROCESS: ("The start event of a sub-process", (Trigger.NONE,)),
    NodeKind.EVENT_SUB_PROCESS: ("The start event of an event sub-process", (*_WAITING, Trigger.ERROR)),
}


def _place(definition: Definition, node: Node) -> tuple[str, tuple[Trigger, ...]]:
    if node.kind is not NodeKind.START:
        return _PLACES[node.kind]
    holder = definition.nodes.get(node.scope)
    return _STARTS[holder.kind if holder is not None else None]


def _check_error(node: Node, event: BpmnEvent, problems: Problems) -> None:
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
        problems.add(node.id, node.line, "activityRef is no activity of the process.")


def _check_boundary(definition: Definition, node: Node, problems: Problems) -> None:
    host = definition.nodes.get(node.attached_to or "")
    if host is None or host.kind not in ACTIVITIES:
        problems.add(node.id, node.line, "A boundary event is attached to an activity.")
    elif host.scope != node.scope:
        problems.add(node.id, node.line, "A boundary event lies in the same scope as its activity.")
