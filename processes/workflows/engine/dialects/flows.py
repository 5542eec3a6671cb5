"""Conditions of sequence flows and the rules of gateways, as other engines read them."""

from processes.workflows.engine.dialects.context import Context, list_nodes
from processes.workflows.engine.dialects.drafts import Draft
from processes.workflows.engine.dialects.mappings import ask
from processes.workflows.engine.dialects.vendors import take_attribute

NOT_LOOKED_AT = "No condition is looked at here: every way is taken."
NO_DEFAULT = "It does not leave this element."


def translate_flows(context: Context, scope: Draft) -> None:
    """Translate the conditions of a scope; what is code is asked of a worker before the ways part."""
    nodes = {node.id: node for node in list_nodes(scope)}
    _drop_impossible(context, scope, nodes)
    leaving: dict[str, list[Draft]] = {}
    for flow in scope.all("sequenceFlow"):
        leaving.setdefault(flow.get("sourceRef"), []).append(flow)
    for key, node in nodes.items():
        _translate_leaving(context, node, leaving.get(key, []))
    for node in nodes.values():
        default = node.get("default")
        if default and default not in {flow.id for flow in leaving.get(node.id, ())}:
            del node.attributes["default"]
            context.report.draw(node, f"default {default}", NO_DEFAULT)


def _drop_impossible(context: Context, scope: Draft, nodes: dict[str, Draft]) -> None:
    """Drop flows that lead to a start or from an end, where nothing can come from or go to."""
    ends = {key: node.name for key, node in nodes.items()}
    dropped = [
        flow
        for flow in scope.all("sequenceFlow")
        if ends.get(flow.get("targetRef")) in ("startEvent", "boundaryEvent")
        or ends.get(flow.get("sourceRef")) == "endEvent"
    ]
    for flow in dropped:
        context.report.draw(flow, "sequenceFlow", IMPOSSIBLE)
    ids = {id(flow) for flow in dropped}
    scope.drop(lambda child: id(child) in ids)


IMPOSSIBLE = "Nothing leads to a start event or a boundary event, or from an end event."


def _translate_leaving(context: Context, node: Draft, flows: list[Draft]) -> None:
    if node.name == "complexGateway":
        node.name = "inclusiveGateway"
        context.report.translate(node, "complexGateway", "complexGateway", "inclusiveGateway")
    for flow in flows:
        condition = flow.find("conditionExpression")
        if condition is None:
            continue
        if node.name in ("parallelGateway", "eventBasedGateway"):
            flow.drop(lambda child: child.name == "conditionExpression")
            if condition.text:
                context.report.draw(condition, "conditionExpression", NOT_LOOKED_AT, of=flow)
        else:
            _translate_condition(context, node, flow, condition)
    if node.name == "exclusiveGateway" and len(flows) > 1:
        _complete_exclusive(context, node, flows)


def _translate_condition(context: Context, node: Draft, flow: Draft, condition: Draft) -> None:
    language = condition.attributes.pop("language", "")
    resource_name, resource = take_attribute(condition, "resource")
    if not condition.text and not resource:
        flow.drop(lambda child: child is condition)
        return
    what = resource_name or "conditionExpression"
    if flow.id == node.get("default"):
        condition.text = ""  # never evaluated, whatever it says
        context.report.draw(condition, what, DEFAULT, of=flow)
        return
    text = context.translate(condition, condition.text, what, of=flow, language=language) if not resource else None
    if text is None:
        text = ask(context, flow, condition.text or resource, what, at=node)
    condition.text = text


DEFAULT = "It is the default: its condition is never looked at."


def _complete_exclusive(context: Context, node: Draft, flows: list[Draft]) -> None:
    """Let a way without a condition hold always: the first that holds, in the order of the file, is taken."""
    for flow in flows:
        if flow.find("conditionExpression") is None and flow.id != node.get("default"):
            flow.add("conditionExpression", "true")
            context.report.translate(flow, "conditionExpression", "", "true: a way without a condition holds always")
