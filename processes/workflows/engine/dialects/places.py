"""Elements where the standard has no place for them: each is passed through or only drawn, and the report says so.

Other engines leave such things out without a word, so the rest of the file is meant to run.
"""

from processes.workflows.engine.dialects.context import ACTIVITIES, EVENTS, NODES, Context, list_nodes, list_scopes
from processes.workflows.engine.dialects.drafts import Draft
from processes.workflows.engine.dialects.triggers import REGISTERED

NO_TYPE = "An event of this place has no such type: it is passed through."
NO_TRIGGER = "Nothing triggers it."
NO_HOST = "It is attached to no activity."
NOT_KNOWN = "An element of this type does not belong into a process: it is passed through."
NOT_PART = "An element of this type does not belong into a process."
NOTHING_WAITS = "Nothing is waited for behind it: it is passed through."
APART = "It is begun apart from the flow: nothing leads to it or from it."
_WAITING = frozenset({"message", "signal", "timer", "conditional"})
_TYPES = {
    "startEvent": _WAITING,
    "endEvent": frozenset(
        {"error", "signal", "message", "terminate", "compensate", "escalation", "cancel"},
    ),
    "intermediateCatchEvent": _WAITING | {"link"},
    "intermediateThrowEvent": frozenset({"message", "signal", "compensate", "escalation", "link"}),
    "boundaryEvent": _WAITING | {"error", "compensate", "escalation", "cancel"},
}
_BEGINNING = _WAITING | {"error", "escalation", "compensate"}
"""What the start event of an event sub-process waits for."""
_BESIDE = frozenset(
    {
        "documentation",
        "extensionElements",
        "laneSet",
        "sequenceFlow",
        "association",
        "dataObject",
        "dataObjectReference",
        "dataStoreReference",
        "textAnnotation",
        "group",
        "ioSpecification",
        "ioBinding",
        "property",
        "auditing",
        "monitoring",
        "resourceRole",
        "performer",
        "humanPerformer",
        "potentialOwner",
        "correlationSubscription",
        "supports",
        "supportedInterfaceRef",
        "incoming",
        "outgoing",
        "dataInputAssociation",
        "dataOutputAssociation",
        "multiInstanceLoopCharacteristics",
        "standardLoopCharacteristics",
        "completionCondition",
        "category",
    }
)
"""What a process or a sub-process holds beside the elements that its flows connect."""


def settle_places(context: Context, process: Draft) -> None:
    """Leave out of a process what cannot be where it stands, before anything else is translated."""
    for scope in list(list_scopes(process)):
        _settle_unknown(context, scope)
        for node in list(list_nodes(scope)):
            if node.name in EVENTS:
                _settle_event(context, scope, node)
            elif node.name == "eventBasedGateway":
                _settle_gateway(context, scope, node)
    _settle_boundaries(context, process)
    for scope in list(list_scopes(process)):
        _settle_event_sub_processes(context, scope)


def _settle_unknown(context: Context, scope: Draft) -> None:
    connected = {flow.get(end) for flow in scope.all("sequenceFlow") for end in ("sourceRef", "targetRef")}
    for child in list(scope.own()):
        if child.name in NODES or child.name in _BESIDE:
            continue
        if child.id and child.id in connected:
            context.report.draw(child, child.name, NOT_KNOWN)
            child.name, child.children = "task", []
        else:
            context.report.draw(child, child.name, NOT_PART, is_picture=True)
            scope.drop(lambda each, child=child: each is child)  # type: ignore[misc]


def _settle_event(context: Context, scope: Draft, node: Draft) -> None:
    """Drop event definitions that an event of this place cannot have, and references to none."""
    starts_apart = node.name == "startEvent" and _is_event_sub_process(scope)
    if node.name == "startEvent" and scope.name != "process" and not starts_apart:
        return  # it begins with its sub-process, whatever it says
    known = _BEGINNING if starts_apart else _TYPES[node.name]
    for child in list(node.own()):
        kind = child.name.removesuffix("EventDefinition")
        shared = None
        if child.name == "eventDefinitionRef":
            shared = context.roots.get(child.text.rpartition(":")[2])
            kind = shared.name.removesuffix("EventDefinition") if shared is not None else ""
        elif kind == child.name:
            continue
        if kind not in known:
            node.drop(lambda each, child=child: each is child)  # type: ignore[misc]
            context.report.draw(child, child.name, NO_TYPE, of=node)
            _leave_event(context, scope, node)


def _leave_event(context: Context, scope: Draft, node: Draft) -> None:
    """Remove a boundary event that has nothing left to wait for; any other is passed through."""
    has_other = any(
        child.name.endswith("EventDefinition") or child.name == "eventDefinitionRef" for child in node.own()
    )
    if node.name == "boundaryEvent" and not has_other:
        context.report.draw(node, "boundaryEvent", NO_TRIGGER)
        _remove(scope, node)


def _is_event_sub_process(scope: Draft) -> bool:
    return scope.name != "process" and scope.get("triggeredByEvent") in ("true", "1")


def _settle_gateway(context: Context, scope: Draft, node: Draft) -> None:
    if all(flow.get("sourceRef") != node.id for flow in scope.all("sequenceFlow")):
        node.name = "exclusiveGateway"
        context.report.draw(node, "eventBasedGateway", NOTHING_WAITS)


def _settle_boundaries(context: Context, process: Draft) -> None:
    """Move a boundary event into the scope of its activity; one without an activity is only drawn."""
    hosts = {node.id: (scope, node) for scope in list_scopes(process) for node in list_nodes(scope)}
    for scope in list(list_scopes(process)):
        for node in [each for each in list_nodes(scope) if each.name == "boundaryEvent"]:
            found = hosts.get(node.get("attachedToRef").rpartition(":")[2])
            if found is None or found[1].name not in ACTIVITIES or _is_event_sub_process(found[1]):
                context.report.draw(node, "boundaryEvent", NO_HOST)
                _remove(scope, node)
            elif found[0] is not scope:
                scope.drop(lambda each, node=node: each is node)  # type: ignore[misc]
                found[0].children.append(node)
                context.report.translate(node, "attachedToRef", scope.id, f"in the scope of {found[1].id}")


def _settle_event_sub_processes(context: Context, scope: Draft) -> None:
    """Drop what leads to event sub-processes, and those that nothing triggers."""
    for node in [each for each in list_nodes(scope) if _is_event_sub_process(each)]:
        for flow in list(scope.all("sequenceFlow")):
            if node.id in (flow.get("sourceRef"), flow.get("targetRef")):
                context.report.draw(flow, "sequenceFlow", APART)
                scope.drop(lambda each, flow=flow: each is flow)  # type: ignore[misc]
        starts = [each for each in list_nodes(node) if each.name == "startEvent"]
        for start in starts:
            has_trigger = any(child.name.endswith("EventDefinition") for child in start.own())
            # An event that only another engine knows begins it, too.
            is_registered = any(child.name in REGISTERED for child in start.extensions())
            if not has_trigger and start.find("eventDefinitionRef") is None and not is_registered:
                context.report.draw(start, "startEvent", NO_TRIGGER)
                _remove(node, start)
        if not any(each.name == "startEvent" for each in list_nodes(node)):
            context.report.draw(node, node.name, NO_TRIGGER)
            _remove(scope, node)


def _remove(scope: Draft, node: Draft) -> None:
    """Remove an element with the flows at it; boundary events go with their activity."""
    gone = {node.id} | {each.id for each in list_nodes(scope) if each.get("attachedToRef") == node.id}
    scope.drop(
        lambda child: (
            (child.name in NODES and child.id in gone)
            or (child.name == "sequenceFlow" and not gone.isdisjoint((child.get("sourceRef"), child.get("targetRef"))))
        )
    )
