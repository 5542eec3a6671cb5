"""Elements that are written as several others: links, multiple events, ad-hoc sub-processes, questions to workers."""

from processes.workflows.engine.bpmn.extensions import POSTERN
from processes.workflows.engine.dialects.context import ACTIVITIES, Context, list_nodes
from processes.workflows.engine.dialects.drafts import Draft
from processes.workflows.engine.dialects.vendors import add_extension


def connect_links(context: Context, scope: Draft) -> None:
    """Turn a link into a flow from where it is thrown to where it is caught."""
    ends: dict[str, dict[str, list[Draft]]] = {"intermediateThrowEvent": {}, "intermediateCatchEvent": {}}
    for node in list_nodes(scope):
        for link in list(node.all("linkEventDefinition")) if node.name in ends else ():
            name = link.get("name") or node.get("name") or node.id
            ends[node.name].setdefault(name, []).append(node)
    for name, throws in ends["intermediateThrowEvent"].items():
        for target in ends["intermediateCatchEvent"].get(name, ())[:1]:
            for source in throws:
                add_flow(context, scope, source, target)
                context.report.translate(source, "link", name, f"a flow to {target.id}")
    for nodes in ends.values():
        for node in (each for found in nodes.values() for each in found):
            node.name = "intermediateThrowEvent"  # of no type: passed through
            node.drop(lambda child: child.name in ("linkEventDefinition", "source", "target"))


def add_flow(context: Context, scope: Draft, source: Draft, target: Draft, condition: str = "") -> Draft:
    flow = scope.add("sequenceFlow", id=context.new_id(f"flow~{source.id[:75]}~{target.id[:75]}"))
    flow.attributes |= {"sourceRef": source.id, "targetRef": target.id}
    flow.line = source.line
    if condition:
        flow.add("conditionExpression", condition)
    return flow


def add_node(context: Context, scope: Draft, name: str, key: str, like: Draft) -> Draft:
    node = scope.add(name, id=context.new_id(key))
    node.line = like.line
    if like.get("name"):
        node.attributes["name"] = like.get("name")
    return node


def split_multiple(context: Context, scope: Draft) -> None:
    """Write an event with several definitions as several events."""
    arriving, leaving = _index(scope, "targetRef"), _index(scope, "sourceRef")
    for node in list(list_nodes(scope)):
        definitions = [child for child in node.own() if child.name.endswith("EventDefinition")]
        if len(definitions) < 2 or not node.name.endswith("Event"):
            continue
        context.report.translate(node, node.name, f"{len(definitions)} event definitions", "an event for each of them")
        node.drop(lambda child, definitions=definitions: any(child is each for each in definitions))  # type: ignore[misc]
        if node.name in ("intermediateThrowEvent", "endEvent"):
            _split_throw(context, scope, node, definitions, arriving.get(node.id, []))
        elif node.name == "intermediateCatchEvent":
            _split_catch(context, scope, node, definitions, leaving.get(node.id, []))
        else:
            _split_beginning(context, scope, node, definitions, leaving.get(node.id, []))


def _split_throw(context: Context, scope: Draft, node: Draft, definitions: list[Draft], arriving: list[Draft]) -> None:
    """Throw one after the other; the last is the event itself, which may end the process."""
    node.children.append(definitions[-1])
    target = node
    for place, definition in reversed(list(enumerate(definitions[:-1], start=1))):
        throw = add_node(context, scope, "intermediateThrowEvent", f"{node.id}~{place}", node)
        throw.children.append(definition)
        add_flow(context, scope, throw, target)
        target = throw
    for flow in arriving:
        flow.attributes["targetRef"] = target.id


def _index(scope: Draft, end: str) -> dict[str, list[Draft]]:
    """Return the flows of a scope by their source or their target."""
    found: dict[str, list[Draft]] = {}
    for flow in scope.all("sequenceFlow"):
        found.setdefault(flow.get(end), []).append(flow)
    return found


def _split_catch(context: Context, scope: Draft, node: Draft, definitions: list[Draft], leaving: list[Draft]) -> None:
    """Wait for any of several events, or for all of them where the file says so."""
    waits_for_all = node.get("parallelMultiple") in ("true", "1")
    node.name = "parallelGateway" if waits_for_all else "eventBasedGateway"
    merge = add_node(context, scope, "parallelGateway" if waits_for_all else "exclusiveGateway", f"{node.id}~all", node)
    for flow in leaving:
        flow.attributes["sourceRef"] = merge.id
    for place, definition in enumerate(definitions, start=1):
        catch = add_node(context, scope, "intermediateCatchEvent", f"{node.id}~{place}", node)
        catch.children.append(definition)
        add_flow(context, scope, node, catch)
        add_flow(context, scope, catch, merge)


def _split_beginning(
    context: Context, scope: Draft, node: Draft, definitions: list[Draft], leaving: list[Draft]
) -> None:
    """Write a start or boundary event as several that lead to where it leads."""
    merge = add_node(context, scope, "exclusiveGateway", f"{node.id}~all", node)
    for flow in leaving:
        flow.attributes["sourceRef"] = merge.id
    node.children.append(definitions[0])
    add_flow(context, scope, node, merge)
    for place, definition in enumerate(definitions[1:], start=2):
        other = add_node(context, scope, node.name, f"{node.id}~{place}", node)
        other.attributes = {**node.attributes, "id": other.id}
        other.children.append(definition)
        add_flow(context, scope, other, merge)


def ask_workers(context: Context, scope: Draft) -> None:
    """Put the external work before an element, or where its ways part, that answers what is code in it."""
    arriving, leaving = _index(scope, "targetRef"), _index(scope, "sourceRef")
    for node in list(list_nodes(scope)):
        before, after = _take_questions(node, "ask"), _take_questions(node, "ask_after")
        if before and node.name in ACTIVITIES:
            asks = _add_question(context, scope, node)
            for flow in arriving.get(node.id, ()):
                flow.attributes["targetRef"] = asks.id
            add_flow(context, scope, asks, node)
        if after:
            _ask_after(context, scope, node, leaving.get(node.id, []))


def _take_questions(node: Draft, name: str) -> int:
    count = 0
    for holder in node.all("extensionElements"):
        found = [child for child in holder.children if child.space == POSTERN and child.name == name]
        count += len(found)
        holder.drop(lambda child, found=found: any(child is each for each in found))  # type: ignore[misc]
    return count


def _add_question(context: Context, scope: Draft, node: Draft) -> Draft:
    asks = add_node(context, scope, "serviceTask", f"{node.id}~asks", node)
    add_extension(asks, "handler", "external")
    add_extension(asks, "topic", f"{node.id}~asks"[:200])
    return asks


def _ask_after(context: Context, scope: Draft, node: Draft, leaving: list[Draft]) -> None:
    """Ask between an element and its ways: a gateway waits for its tokens first, then the ways part behind."""
    asks = _add_question(context, scope, node)
    parting = asks
    if node.name.endswith("Gateway"):
        parting = add_node(context, scope, node.name, f"{node.id}~ways", node)
        add_flow(context, scope, asks, parting)
    default = node.attributes.pop("default", "")
    if default:
        parting.attributes["default"] = default
    for flow in leaving:
        flow.attributes["sourceRef"] = parting.id
    add_flow(context, scope, node, asks)
