"""Plan item definitions of other engines: tasks of any type, listeners of any event, and what they call."""

from processes.workflows.engine.bpmn.assignments import is_variable
from processes.workflows.engine.bpmn.extensions import POSTERN
from processes.workflows.engine.bpmn.file import is_key
from processes.workflows.engine.bpmn.timers import is_literal
from processes.workflows.engine.cmmn.outline import KINDS
from processes.workflows.engine.dialects.bindings import translate_binding
from processes.workflows.engine.dialects.context import Context
from processes.workflows.engine.dialects.drafts import Draft
from processes.workflows.engine.dialects.identity import make_key
from processes.workflows.engine.dialects.tasks import CODE, NOT_KNOWN, RESULT
from processes.workflows.engine.dialects.triggers import write_length
from processes.workflows.engine.dialects.vendors import (
    add_extension,
    has_extension,
    peek_attribute,
    take_attribute,
    take_elements,
)


def translate_case_task(context: Context, element: Draft) -> None:
    """Translate the definition of a plan item; what only another engine knows is a task or a listener of no type."""
    if element.name not in KINDS and element.name.endswith(("Task", "EventListener")):
        found = "task" if element.name.endswith("Task") else "eventListener"
        context.report.translate(element, element.name, element.name, found)
        element.name = found
    if element.name in ("task", "decisionTask"):
        _translate_task(context, element)
    elif element.name == "planFragment":
        element.name = "stage"
        element.attributes["autoComplete"] = "true"
        context.report.translate(element, "planFragment", "", "a stage that completes automatically")
    elif element.name == "eventListener":
        # A listener of any other event is made to occur by hand.
        what, kind = take_attribute(element, "eventType")
        element.name = "userEventListener"
        context.report.translate(element, what or "eventListener", kind, BY_HAND)
    elif element.name == "timerEventListener":
        _translate_timer(context, element)
    elif element.name in ("processTask", "caseTask"):
        _translate_call(context, element)
    elif element.name in ("stage", "casePlanModel"):
        what, condition = take_attribute(element, "autoCompleteCondition")
        if condition:
            element.attributes["autoComplete"] = "true"
            context.report.draw(element, what, AUTO_COMPLETE)


AUTO_COMPLETE = "A stage completes automatically always or never: here always."
BY_HAND = "made to occur by hand"
STARTED_APART = "It waits for what it calls."


def _translate_task(context: Context, element: Draft) -> None:
    """Let a worker do a task that an engine would run, and a person one of no type."""
    if element.name in KINDS and _names_decision(element) and _translate_decision(context, element):
        translate_binding(context, element)
        return
    before = element.name
    _, kind = take_attribute(element, "type")
    topic_name, topic = take_attribute(element, "topic")
    code_name, code = take_attribute(
        element, "class", "delegateExpression", "expression", "decisionRef", "decisionTableReferenceKey"
    )
    for name in ("resultVariableName", "resultVariable", "scriptFormat"):
        result_name, result = take_attribute(element, name)
        if result_name:
            context.report.draw(element, f"{result_name} {result}".strip(), RESULT)
    for field in take_elements(element, "field", "taskParameter"):
        context.report.draw(field, f"field {field.get('name')}", CODE, of=element)
    what, value = topic_name or code_name or before, topic or code or kind
    is_work = bool(value) or before == "decisionTask"
    element.name = "humanTask"
    element.drop(lambda child: child.name in ("input", "output", "parameterMapping", "decisionRefExpression"))
    element.attributes.pop("decisionRef", None)
    if is_work:
        name = topic if topic and "${" not in topic else element.id
        add_extension(element, "handler", "external")
        add_extension(element, "topic", name[:200])
        context.report.translate(element, what, value, f"external work, topic {name}")
    else:
        context.report.translate(element, before, kind, "a task that a person completes")


def _translate_decision(context: Context, element: Draft) -> bool:
    """Translate the expression that names a decision; return False where it is code, and a worker decides."""
    expression = element.find("decisionRefExpression")
    written = element.get("decisionRef") or (expression.text if expression is not None else "")
    for attribute in [name for name in element.attributes if name.endswith("}resultVariable")]:
        if not is_variable(element.get(attribute)):
            context.report.draw(element, f"resultVariable {element.attributes.pop(attribute)}", NOT_KNOWN)
    if not written.startswith(("${", "#{")):
        return not element.get("decisionRef") or is_key(element.get("decisionRef").rpartition(":")[2])
    value = context.translate(element, written, "decisionRef", of=element)
    if value is None:
        return False
    if element.get("decisionRef"):
        element.attributes["decisionRef"] = f"${{{value}}}"
    elif expression is not None:
        expression.text = value
    return True


def _names_decision(element: Draft) -> bool:
    names = ("decisionRef", "decisionTableReferenceKey", "decisionReferenceKey", "decisionServiceReferenceKey")
    return (
        bool(element.get("decisionRef") or peek_attribute(element, *names))
        or element.find("decisionRefExpression") is not None
        or any(child.get("name") in names for child in element.extensions())
    )


def _translate_timer(context: Context, element: Draft) -> None:
    expression = element.find("timerExpression")
    body = expression.find("body") if expression is not None else None
    text = "" if expression is None else expression.text or (body.text if body is not None else "")
    if text and is_literal(text):
        return
    length = write_length(text)
    if expression is not None and length is not None:
        expression.children, expression.text = [], length
        context.report.translate(expression, "timerExpression", text, length, of=element)
        return
    value = context.translate(element, text, "timerExpression", of=element) if text else None
    if expression is None or value is None:
        element.name = "userEventListener"
        element.children = []
        context.report.translate(element, "timerExpression", text, BY_HAND)
        return
    expression.children = []
    expression.text = value


def _translate_call(context: Context, element: Draft) -> None:
    """Translate what a process or case task calls and what it passes on."""
    if element.get("isBlocking") in ("false", "0"):
        element.attributes.pop("isBlocking")
        context.report.draw(element, "isBlocking", STARTED_APART)
    for mapping in list(element.all("parameterMapping")):
        context.report.draw(mapping, "parameterMapping", ALL_PASSED, of=element)
    element.drop(lambda child: child.name == "parameterMapping")
    for name in ("in", "out"):
        for entry in take_elements(element, name):
            _translate_passed(context, element, entry, name)
    translate_binding(context, element)
    reference = f"{element.name.removesuffix('Task')}Ref"
    _name_called(context, element)
    expression = element.find(f"{reference}Expression")
    if expression is not None:
        body = expression.find("body")
        text = expression.text or (body.text if body is not None else "")
        value = context.translate(expression, text, f"{reference}Expression", of=element) if text else ""
        if value and not element.get(reference):
            expression.children, expression.text = [], value
            return
        element.drop(lambda child: child is expression)
    written = element.get(reference)
    if written and ("${" in written or "#{" in written):
        del element.attributes[reference]
        value = context.translate(element, written, reference, of=element)
        if value is not None:
            element.add(f"{reference}Expression", value)
            return
    if not is_key(element.get(reference).rpartition(":")[2]):
        element.attributes.pop(reference, None)
        element.name = "humanTask"
        for holder in element.all("extensionElements"):
            holder.drop(lambda child: child.space == POSTERN and child.name == "revision")
        context.report.translate(element, reference, written, "a task that a person completes")


def _name_called(context: Context, element: Draft) -> None:
    """Write the name of the process that a task refers to as the key under which one of this name is published."""
    process = context.roots.get(element.get("processRef"))
    if process is None or process.name != "process":
        return
    name = process.get("externalRef").rpartition(":")[2] or process.get("name")
    if name and not is_key(name):
        process.attributes["externalRef"] = make_key(name)
        context.report.translate(process, "process", name, make_key(name), of=element)


ALL_PASSED = "What is called gets all variables that are visible."


def _translate_passed(context: Context, element: Draft, entry: Draft, name: str) -> None:
    source, target = entry.get("source"), entry.get("target")
    written = entry.get("sourceExpression")
    value = context.translate(entry, written, f"{name} {target}", of=element) if written else source
    role = "input" if name == "in" else "output"
    if value and is_variable(target) and (written or is_variable(source)) and not has_extension(element, "none"):
        add_extension(element, role, name=target, expression=value)
    elif not entry.get("businessKey") and entry.get("variables") != "all":
        context.report.draw(entry, f"{name} {target}", CODE, of=element)
