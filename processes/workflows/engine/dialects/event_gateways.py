"""Event-based gateways whose ways begin with something else than an event: each way is made to wait for one."""

from processes.workflows.engine.dialects.context import Context, list_nodes
from processes.workflows.engine.dialects.drafts import Draft
from processes.workflows.engine.dialects.structure import add_flow, add_node
from processes.workflows.engine.dialects.triggers import wait_for_message


def complete_event_gateways(context: Context, scope: Draft) -> None:
    """Let every way behind an event-based gateway wait for an event, when all else in the scope is translated."""
    gateways = [node for node in list_nodes(scope) if node.name == "eventBasedGateway"]
    if not gateways:
        return
    nodes = {node.id: node for node in list_nodes(scope)}
    leaving: dict[str, list[Draft]] = {}
    arriving: dict[str, list[Draft]] = {}
    for flow in scope.all("sequenceFlow"):
        leaving.setdefault(flow.get("sourceRef"), []).append(flow)
        arriving.setdefault(flow.get("targetRef"), []).append(flow)
    for gateway in gateways:
        for flow in leaving.get(gateway.id, ()):
            target = nodes.get(flow.get("targetRef"))
            if target is None or target.name in ("intermediateCatchEvent", "receiveTask"):
                continue
            if target.name == "eventBasedGateway":
                _join_ways(context, scope, gateway, flow, leaving.get(target.id, ()))
            elif _is_untyped(target) and len(arriving[target.id]) == 1:
                target.name = "intermediateCatchEvent"
                wait_for_message(context, target, target.add("messageEventDefinition"), "intermediateCatchEvent", "")
            else:
                _wait_before(context, scope, flow, target)


def _is_untyped(node: Draft) -> bool:
    """Return whether an event has no definition: where nothing precedes it but its gateway, it was drawn as a wait."""
    return node.name == "intermediateThrowEvent" and not any(
        child.name.endswith("EventDefinition") or child.name == "eventDefinitionRef" for child in node.own()
    )


def _join_ways(context: Context, scope: Draft, gateway: Draft, flow: Draft, ways: "list[Draft] | tuple[()]") -> None:
    """Wait at once for what the next gateway waits for: an event with several definitions has become one."""
    targets = [way.get("targetRef") for way in ways]
    scope.drop(lambda child: child is flow)
    for target in targets:
        joined = add_flow(context, scope, gateway, gateway)
        joined.attributes["targetRef"] = target
    context.report.translate(gateway, gateway.name, flow.get("targetRef"), f"waits for {', '.join(targets)}"[:300])


def _wait_before(context: Context, scope: Draft, flow: Draft, target: Draft) -> None:
    """Let a way that begins with an activity or another gateway wait for a message of its name."""
    catch = add_node(context, scope, "intermediateCatchEvent", f"{target.id}~waits", target)
    name = flow.get("name") or target.get("name") or target.id
    wait_for_message(context, target, catch.add("messageEventDefinition"), "eventBasedGateway", "", name)
    flow.attributes["targetRef"] = catch.id
    add_flow(context, scope, catch, target)
