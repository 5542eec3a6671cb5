"""Messages, signals, errors and escalations that events refer to, or ought to: every one ends up with a name."""

from processes.workflows.engine.bpmn.file import MAX_NAME
from processes.workflows.engine.dialects.context import Context, list_nodes, list_scopes, local_name
from processes.workflows.engine.dialects.drafts import Draft

NOT_EVALUATED = "A name is no expression here: the event has exactly this name."


def complete_references(context: Context, processes: list[Draft]) -> None:
    """Give every message, signal, error and escalation event of these processes something to refer to."""
    flows = _read_message_flows(context)
    for process in processes:
        for scope in list_scopes(process):
            for node in list_nodes(scope):
                _complete_node(context, node, flows)


def _complete_node(context: Context, node: Draft, flows: dict[str, str]) -> None:
    if node.name == "receiveTask" or (node.name == "sendTask" and (node.get("messageRef") or node.id in flows)):
        _complete_named(context, node, node, "message", flows)
    for definition in node.own():
        kind = definition.name.removesuffix("EventDefinition")
        if kind == definition.name:
            continue
        if kind in ("message", "signal"):
            _complete_named(context, definition, node, kind, flows)
        elif kind in ("error", "escalation"):
            _complete_code(context, definition, node, kind)


def _read_message_flows(context: Context) -> dict[str, str]:
    """Return the name of the message that flows to or from each element, by the drawing of the collaboration."""
    found: dict[str, str] = {}
    for collaboration in context.root.all("collaboration"):
        for flow in collaboration.all("messageFlow"):
            message = context.roots.get(local_name(flow.get("messageRef")))
            ends = [local_name(flow.get(end)) for end in ("sourceRef", "targetRef")]
            name = message.get("name") if message is not None else ""
            for end in ends:
                found.setdefault(end, name or flow.get("name") or flow.id)
    _share_names(context, found)
    return {end: name for end, name in found.items() if name}


def _share_names(context: Context, found: dict[str, str]) -> None:
    """Let both ends of a message flow have the name of the message that one of them refers to."""
    named = {}
    for element in context.root.walk() if found else ():
        holders = (element, *element.all("messageEventDefinition"))
        for holder in holders if element.id in found else ():
            message = context.roots.get(local_name(holder.get("messageRef")))
            if message is not None and message.get("name"):
                named[element.id] = message.get("name")
    for collaboration in context.root.all("collaboration"):
        for flow in collaboration.all("messageFlow"):
            ends = [local_name(flow.get(end)) for end in ("sourceRef", "targetRef")]
            name = next((named[end] for end in ends if end in named), "")
            found.update(dict.fromkeys(ends, name) if name else {})


def _complete_named(context: Context, holder: Draft, node: Draft, kind: str, flows: dict[str, str]) -> None:
    reference = local_name(holder.get(f"{kind}Ref"))
    found = context.roots.get(reference)
    if found is not None and found.name == kind:
        _complete_name(context, found, node, kind)
        return
    # Without a reference, what flows to it; else it is called like the element: people see that name.
    name = reference or (flows.get(node.id, "") if kind == "message" else "") or node.get("name") or node.id
    name = " ".join(name.split())[:MAX_NAME]
    holder.attributes[f"{kind}Ref"] = _add_root(context, kind, name)
    context.report.translate(holder, f"{kind}Ref", reference, name, of=node)


def _complete_name(context: Context, found: Draft, node: Draft, kind: str) -> None:
    name = found.get("name")
    if not name:
        found.attributes["name"] = found.id[:MAX_NAME]
        context.report.translate(found, f"{kind} name", "", found.get("name"), of=node)
    elif "${" in name or "#{" in name or name.startswith("="):
        context.report.draw(found, f"{kind} name", NOT_EVALUATED, of=node)


def _add_root(context: Context, kind: str, name: str) -> str:
    """Add a message or signal of this name to the file, once, and return its id."""
    key = f"{kind}~{name}"
    if key not in context.roots:
        root = context.root.add(kind, id=key, name=name)
        context.roots[key] = root
        context.ids.add(key)
    return key


def _complete_code(context: Context, definition: Draft, node: Draft, kind: str) -> None:
    """Give an error or an escalation its code; by a literal, another engine means the code itself."""
    throws = node.name in ("endEvent", "intermediateThrowEvent")
    reference = local_name(definition.get(f"{kind}Ref"))
    found = context.roots.get(reference)
    attribute = f"{kind}Code"
    if found is not None and found.name == kind:
        if throws and not found.get(attribute):
            found.attributes[attribute] = (found.get("name") or found.id)[:MAX_NAME]
            context.report.translate(found, attribute, "", found.get(attribute), of=node)
        return
    if not reference and not throws:
        return  # it catches any
    code = (reference or node.get("name") or kind)[:MAX_NAME]
    key = f"{kind}~{code}"
    if key not in context.roots:
        context.roots[key] = context.root.add(kind, **{"id": key, attribute: code})
        context.ids.add(key)
    definition.attributes[f"{kind}Ref"] = key
    context.report.translate(definition, f"{kind}Ref", reference, code, of=node)
