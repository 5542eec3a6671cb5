"""Where a process and its parts begin: scopes without a start event, or with several, as the standard allows them."""

from processes.workflows.engine.dialects.context import ACTIVITIES, Context, list_nodes
from processes.workflows.engine.dialects.drafts import Draft
from processes.workflows.engine.dialects.structure import add_flow, add_node

ONE_START = "It begins at the first start event without a trigger."
WITH_ITS_SCOPE = "its trigger is left out: it begins with its sub-process"
FIRST_EVENT = "The first event that happens is taken, and the others are not waited for."
NO_UNDO = "No activity that undoes something is associated with it."


def complete_starts(context: Context, scope: Draft) -> None:
    """Give a scope one way to begin by itself, unless only events begin it."""
    if scope.name == "adHocSubProcess":
        _open_ad_hoc(context, scope)
    _start_by_instantiation(context, scope)
    if scope.get("triggeredByEvent") in ("true", "1"):
        return
    if scope.name != "process":
        _drop_triggers(context, scope)
    starts = [node for node in list_nodes(scope) if node.name == "startEvent"]
    plain = [start for start in starts if not _has_trigger(start)]
    for start in plain[1:]:
        context.report.draw(start, "startEvent", ONE_START)
    _remove(scope, plain[1:])
    if not starts:
        _add_start(context, scope)


def _has_trigger(node: Draft) -> bool:
    return any(child.name.endswith("EventDefinition") or child.name == "eventDefinitionRef" for child in node.own())


def _drop_triggers(context: Context, scope: Draft) -> None:
    """Let the start events of a sub-process begin with it: only those of event sub-processes wait for something."""
    starts = [node for node in list_nodes(scope) if node.name == "startEvent"]
    triggered = [start for start in starts if _has_trigger(start)]
    has_plain = len(triggered) < len(starts)
    for start in triggered:
        if has_plain:
            context.report.draw(start, "startEvent", ONE_START)
        else:
            start.drop(lambda child: child.name.endswith("EventDefinition") or child.name == "eventDefinitionRef")
            context.report.translate(start, "startEvent", "", WITH_ITS_SCOPE)
    if has_plain:
        _remove(scope, triggered)


def _remove(scope: Draft, nodes: list[Draft]) -> None:
    """Remove elements and the flows at them."""
    ids = {node.id for node in nodes}
    if not ids:
        return
    scope.drop(
        lambda child: (
            child.id in ids
            or (child.name == "sequenceFlow" and not ids.isdisjoint((child.get("sourceRef"), child.get("targetRef"))))
        )
    )


def _add_start(context: Context, scope: Draft) -> None:
    """Begin at every element that nothing leads to, as the standard says of a scope without a start event."""
    reached = {flow.get("targetRef") for flow in scope.all("sequenceFlow")}
    first = [node for node in list_nodes(scope) if node.id not in reached and not _waits_apart(node)]
    if not first and any(not _waits_apart(node) for node in list_nodes(scope)):
        return  # a circle: refused, because nothing says where it begins
    start = add_node(context, scope, "startEvent", f"startEvent~{scope.id[:80]}", scope)
    start.attributes.pop("name", None)
    for node in first:
        add_flow(context, scope, start, node)
    context.report.translate(scope, "startEvent", "", f"begins at {', '.join(node.id for node in first) or 'nothing'}")


def _waits_apart(node: Draft) -> bool:
    """Return whether an element is begun by something else than its scope."""
    return (
        node.name == "boundaryEvent"
        or node.get("triggeredByEvent") in ("true", "1")
        or node.get("isForCompensation") in ("true", "1")
    )


def _open_ad_hoc(context: Context, scope: Draft) -> None:
    """Begin every activity of an ad-hoc sub-process at once; it ends with the last, or when its condition holds."""
    scope.name = "subProcess"
    condition = scope.find("completionCondition")
    scope.drop(lambda child: child.name == "completionCondition")
    after = "everything in it begins at once"
    text = None
    if condition is not None and condition.text:
        text = context.translate(condition, condition.text, "completionCondition", of=scope)
        after += f"; it ends when {text}" if text else ""
    context.report.translate(scope, "adHocSubProcess", scope.get("ordering"), after)
    if text:
        _end_when(context, scope, text)


def _end_when(context: Context, scope: Draft, condition: str) -> None:
    """End a scope when a condition holds: an interrupting event sub-process that does nothing else."""
    ending = add_node(context, scope, "subProcess", f"{scope.id}~ends", scope)
    ending.attributes["triggeredByEvent"] = "true"
    start = add_node(context, ending, "startEvent", f"{scope.id}~ends~start", scope)
    definition = start.add("conditionalEventDefinition")
    definition.add("condition", condition)


def _start_by_instantiation(context: Context, scope: Draft) -> None:
    """Turn what begins a process by a message into the start events that it stands for."""
    reached = {flow.get("targetRef") for flow in scope.all("sequenceFlow")}
    for node in list(list_nodes(scope)):
        if node.attributes.pop("eventGatewayType", "") == "Parallel":
            context.report.draw(node, "eventGatewayType Parallel", FIRST_EVENT)
        if node.get("instantiate") not in ("true", "1") or node.id in reached:
            node.attributes.pop("instantiate", None)
        elif node.name == "receiveTask":
            node.name = "startEvent"
            node.add("messageEventDefinition", messageRef=node.attributes.pop("messageRef", ""))
            node.attributes.pop("instantiate")
            context.report.translate(node, "receiveTask", "instantiate", "a start event for its message")
        elif node.name == "eventBasedGateway":
            _start_behind(context, scope, node)


def _start_behind(context: Context, scope: Draft, gateway: Draft) -> None:
    targets = {flow.get("targetRef") for flow in scope.all("sequenceFlow") if flow.get("sourceRef") == gateway.id}
    _remove(scope, [gateway])
    for node in list_nodes(scope):
        if node.id in targets and node.name == "intermediateCatchEvent":
            node.name = "startEvent"
        elif node.id in targets and node.name == "receiveTask":
            node.name = "startEvent"
            node.add("messageEventDefinition", messageRef=node.attributes.pop("messageRef", ""))
    context.report.translate(gateway, "eventBasedGateway", "instantiate", "a start event for each way behind it")


def complete_compensation(context: Context, scope: Draft) -> None:
    """Mark the activities that undo something, and drop compensation events that lead to none."""
    nodes = {node.id: node for node in list_nodes(scope)}
    _associate_undone(context, scope, nodes)
    reached = {flow.get("targetRef") for flow in scope.all("sequenceFlow")}
    ends: dict[str, list[str]] = {}
    for association in scope.all("association"):
        source, target = association.get("sourceRef"), association.get("targetRef")
        ends.setdefault(source, []).append(target)
        ends.setdefault(target, []).append(source)
    dropped: list[Draft] = []
    for node in list(nodes.values()):
        if node.name != "boundaryEvent" or node.find("compensateEventDefinition") is None:
            continue
        found = [nodes[end] for end in ends.get(node.id, ()) if end in nodes and nodes[end].name in ACTIVITIES]
        handlers = [each for each in found if each.get("isForCompensation") in ("true", "1") or each.id not in reached]
        if len(handlers) != 1:
            dropped.append(node)
            context.report.draw(node, "boundaryEvent", NO_UNDO)
        elif handlers[0].get("isForCompensation") not in ("true", "1"):
            handlers[0].attributes["isForCompensation"] = "true"
            context.report.translate(handlers[0], "isForCompensation", "", "true")
    _remove(scope, dropped)
    _free_undoing(context, scope, nodes)


def _associate_undone(context: Context, scope: Draft, nodes: dict[str, Draft]) -> None:
    """Turn a flow from a compensation event into the association that it stands for."""
    for flow in list(scope.all("sequenceFlow")):
        source = nodes.get(flow.get("sourceRef"))
        if source is None or source.name != "boundaryEvent" or source.find("compensateEventDefinition") is None:
            continue
        scope.drop(lambda child, flow=flow: child is flow)  # type: ignore[misc]
        scope.add("association", id=flow.id, sourceRef=source.id, targetRef=flow.get("targetRef"))
        context.report.translate(flow, "sequenceFlow", source.id, "an association with what undoes its activity")


def _free_undoing(context: Context, scope: Draft, nodes: dict[str, Draft]) -> None:
    """Drop flows at activities that undo something: they are begun by compensation alone."""
    for flow in list(scope.all("sequenceFlow")):
        ends = [nodes.get(flow.get(end)) for end in ("sourceRef", "targetRef")]
        if any(end is not None and end.get("isForCompensation") in ("true", "1") for end in ends):
            scope.drop(lambda child, flow=flow: child is flow)  # type: ignore[misc]
            context.report.draw(flow, "sequenceFlow", BY_COMPENSATION)


BY_COMPENSATION = "What undoes an activity is begun by compensation alone: nothing leads to it or from it."
