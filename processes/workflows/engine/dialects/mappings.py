"""Inputs and outputs of activities, and what a call activity passes on and takes back."""

from processes.workflows.engine.bpmn.assignments import is_variable
from processes.workflows.engine.bpmn.file import is_key
from processes.workflows.engine.dialects.bindings import translate_binding
from processes.workflows.engine.dialects.context import Context, local_name
from processes.workflows.engine.dialects.drafts import Draft
from processes.workflows.engine.dialects.identity import make_key
from processes.workflows.engine.dialects.languages.phrases import write_text
from processes.workflows.engine.dialects.tasks import CODE
from processes.workflows.engine.dialects.vendors import (
    ZEEBE,
    add_extension,
    has_extension,
    take_attribute,
    take_elements,
)

MAPPED = frozenset(
    {
        "serviceTask",
        "sendTask",
        "userTask",
        "receiveTask",
        "subProcess",
        "transaction",
        "adHocSubProcess",
        "callActivity",
        "businessRuleTask",
    }
)
"""Activities that can have inputs and outputs of their own."""
NO_SCOPE = "Only activities that wait or have parts have variables of their own."


def translate_mappings(context: Context, node: Draft) -> None:
    """Translate the input and output mappings of an element."""
    found = [(entry, "inputParameter", "outputParameter") for entry in take_elements(node, "inputOutput")]
    found += [(entry, "input", "output") for entry in take_elements(node, "ioMapping", zeebe=True)]
    for group, input_name, output_name in found:
        for entry in group.children:
            if node.name == "scriptTask" or node.name not in MAPPED:
                context.report.draw(entry, entry.name, NO_SCOPE, of=node)
            elif entry.name == input_name:
                _translate_entry(context, node, entry, "input")
            elif entry.name == output_name:
                _translate_entry(context, node, entry, "output")
        if group.space == ZEEBE and any(entry.name == "output" for entry in group.children) and node.name in MAPPED:
            add_extension(node, "outputs", "only")
    if node.name == "callActivity":
        _translate_call(context, node)


def _translate_entry(context: Context, node: Draft, entry: Draft, role: str) -> None:
    name, what = entry.get("name") or entry.get("target"), f"{entry.name} {entry.get('name') or entry.get('target')}"
    value = _read_value(context, node, entry, what)
    if value is None or not is_variable(name):
        # A part of a variable, `order.id`, or code: neither can be written as an input.
        context.report.draw(entry, what, CODE if value is None else PART, of=node)
        return
    add_extension(node, role, name=name, expression=value)


PART = "The name of a variable is one word of letters and digits."


def _read_value(context: Context, node: Draft, entry: Draft, what: str) -> str | None:
    if entry.space == ZEEBE:
        source = entry.get("source")
        # Without the mark of an expression it is a text.
        return context.translate(entry, source, what, of=node) if source[:1] in ("=", "") else write_text(source).text
    if any(child.name == "script" for child in entry.children):
        return None
    nested = [child for child in entry.children if child.name in ("list", "map")]
    if nested:
        return _write_nested(context, node, nested[0], what)
    return context.translate_value(entry, entry.text, what, of=node)


def _write_nested(context: Context, node: Draft, holder: Draft, what: str) -> str | None:
    """Write a list or a map of values; None when one of them is code."""
    parts: list[str] = []
    for child in holder.children:
        if child.children:
            return None
        value = context.translate_value(child, child.text, what, of=node)
        if value is None:
            return None
        parts.append(f"{write_text(child.get('key')).text}: {value}" if holder.name == "map" else value)
    return "{" + ", ".join(parts) + "}" if holder.name == "map" else f"[{', '.join(parts)}]"


def _translate_call(context: Context, node: Draft) -> None:
    """Translate which definition is called, and what is passed on and taken back."""
    _translate_called(context, node)
    if node.name == "callActivity":  # it names something
        translate_binding(context, node)
    _translate_associations(context, node)
    for name in ("in", "out"):
        entries = take_elements(node, name)
        for entry in entries:
            _translate_passed(context, node, entry, name)
        if name == "out" and entries and all(entry.get("variables") != "all" for entry in entries):
            add_extension(node, "outputs", "only")
    for called in take_elements(node, "calledElement", zeebe=True):
        if called.get("propagateAllChildVariables") == "false" and not has_extension(node, "output"):
            add_extension(node, "outputs", "none")
        elif called.get("propagateAllChildVariables") != "false" and has_extension(node, "output"):
            for holder in node.all("extensionElements"):
                holder.drop(lambda child: child.name == "outputs")
        if called.get("propagateAllParentVariables") == "true" and has_extension(node, "input"):
            add_extension(node, "inputs", "all")


def _translate_associations(context: Context, node: Draft) -> None:
    """Translate the data associations of the standard: each leads a variable to an input, or an output to one."""
    for role, inner in (("input", "targetRef"), ("output", "sourceRef")):
        outer = "sourceRef" if role == "input" else "targetRef"
        for association in list(node.all(f"data{role.title()}Association")):
            ends = {child.name: child.text for child in association.own()}
            own = context.names.get(ends.get(inner, ""), "")
            other = ends.get(outer, "")
            if not is_variable(own) or not is_variable(other) or other == own == "":
                continue
            target, source = (own, other) if role == "input" else (other, own)
            add_extension(node, role, name=target, expression=source)
            node.drop(lambda child, association=association: child is association)  # type: ignore[misc]
            context.report.translate(association, association.name, f"{own}, {other}", f"{target} = {source}", of=node)
    if has_extension(node, "output"):
        add_extension(node, "outputs", "only")


def _translate_called(context: Context, node: Draft) -> None:
    what, called = "calledElement", node.get("calledElement")
    for entry in (child for child in node.extensions() if child.space == ZEEBE and child.name == "calledElement"):
        what, called = "zeebe:calledElement", entry.get("processId")
    by_name = node.attributes.pop("{http://www.jboss.org/drools}calledElementByName", "")
    if by_name:
        what, called = "tns:calledElementByName", by_name
    case_name, case = take_attribute(node, "caseRef")
    if case:
        what, called = case_name, case
    if is_key(local_name(called)) and "${" not in called:
        if called != node.get("calledElement"):
            node.attributes["calledElement"] = called
            context.report.translate(node, what, called, called)
        return
    node.attributes.pop("calledElement", None)
    is_literal = not called.startswith("=") and "${" not in called and "#{" not in called
    if is_literal and is_key(make_key(called)):
        # A process of such a name is published under this key, too.
        node.attributes["calledElement"] = make_key(called)
        context.report.translate(node, what, called, make_key(called))
        return
    if not called:
        node.name = "task"
        node.drop(lambda child: child.name == "multiInstanceLoopCharacteristics")
        context.report.draw(node, "callActivity", NOT_NAMED)
        return
    value = context.translate(node, called, what, of=node)
    add_extension(node, "called", ask(context, node, called, what) if value is None else value)


NOT_NAMED = "It names nothing that could be called: it is passed through."


def ask(context: Context, element: Draft, text: str, what: str, *, at: Draft | None = None) -> str:
    """Return the variable in which a worker answers an expression that is code.

    It is asked before the element; or, of a flow, when the element `at` is left.
    """
    node = at or element
    name = "answer_" + "".join(letter if letter.isalnum() else "_" for letter in f"{element.id}_{what}")[:80]
    add_extension(node, "ask" if at is None else "ask_after", name)
    context.report.translate(element, what, text, f"{name}, answered by external work, topic {node.id}~asks")
    return name


def _translate_passed(context: Context, node: Draft, entry: Draft, name: str) -> None:
    role = "input" if name == "in" else "output"
    target, source = entry.get("target"), entry.get("source")
    if entry.get("businessKey"):
        context.report.translate(entry, f"{name} businessKey", entry.get("businessKey"), SAME_RECORD, of=node)
        return
    if entry.get("variables") == "all":
        add_extension(node, f"{role}s", "all")
        return
    written = entry.get("sourceExpression")
    value: str | None = source
    if written:
        value = context.translate(entry, written, f"{name} {target}", of=node)
    if not value or not is_variable(target) or (source and not is_variable(source)):
        context.report.draw(entry, f"{name} {target}", CODE if not value else PART, of=node)
        return
    add_extension(node, role, name=target, expression=value)


SAME_RECORD = "the record of the caller: what it calls runs within it"
