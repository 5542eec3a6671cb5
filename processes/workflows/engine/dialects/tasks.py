"""Service, send, script and rule tasks: their workers by topic, or assignments where variables are all they need."""

from processes.workflows.engine.bpmn.assignments import is_own_script, is_variable
from processes.workflows.engine.bpmn.file import MAX_NAME, is_key
from processes.workflows.engine.bpmn.outline import KINDS
from processes.workflows.engine.bpmn.people import PEOPLE
from processes.workflows.engine.definition import ResultMapping
from processes.workflows.engine.dialects.bindings import translate_binding
from processes.workflows.engine.dialects.context import Context
from processes.workflows.engine.dialects.drafts import Draft
from processes.workflows.engine.dialects.retries import set_retries
from processes.workflows.engine.dialects.vendors import (
    DELEGATES,
    ZEEBE,
    add_extension,
    get_prefix,
    has_extension,
    peek_attribute,
    take_attribute,
    take_elements,
)

FOR_PEOPLE = frozenset({"userTask", "manualTask", "humanTask"})
WORKED = frozenset({"serviceTask", "sendTask", "businessRuleTask", "scriptTask"})
_RULE = "businessRuleTask"


def translate_task(context: Context, node: Draft) -> None:
    """Translate what does the work of a task; a task of ours stays as it is."""
    if node.name not in WORKED or has_extension(node, "handler", "topic", "assign"):
        return
    if node.name == "serviceTask" and peek_attribute(node, "type") == "dmn":
        # The modeler of Flowable writes a rule task as a service task of this type.
        node.name = _RULE
        context.report.translate(node, "type", take_attribute(node, "type")[1], _RULE)
    if node.name == _RULE and _is_decision(node) and _translate_decision(context, node):
        return
    if node.name == "scriptTask":
        _translate_script(context, node)
    elif not _translate_zeebe(context, node):
        _translate_delegate(context, node)


def describe_worker(node: Draft) -> str:
    return f"external work, topic {node.id}"


def make_external(context: Context, node: Draft, what: str, before: str, topic: str = "") -> None:
    """Let a worker do a task, under its topic, else under the id of the task."""
    node.name = "sendTask" if node.name == "sendTask" else "serviceTask"
    add_extension(node, "handler", "external")
    if topic:
        add_extension(node, "topic", topic[:MAX_NAME])
    context.report.translate(node, what, before, f"external work, topic {topic or node.id}")


def _is_decision(node: Draft) -> bool:
    """Return whether a rule task names a decision, and decisions are run here."""
    names = ("decisionRef", "decisionTableReferenceKey")
    is_named = bool(peek_attribute(node, *names)) or bool(
        [child for child in node.extensions() if child.name == "calledDecision" or child.get("name") in names]
    )
    return _RULE in KINDS and (is_named or has_extension(node, "decision"))


def _translate_decision(context: Context, node: Draft) -> bool:
    """Translate what says which decision is called; return False where that is code, and a worker decides."""
    for attribute in [name for name in node.attributes if name.endswith("}decisionRef")]:
        text = node.get(attribute)
        if text.startswith(("${", "#{", "=")):
            value = context.translate(node, text, "decisionRef", of=node)
            if value is None:
                return False
            node.attributes[attribute] = "${" + value + "}"
        elif not is_key(text.rpartition(":")[2]):
            return False
    for called in [child for child in node.extensions() if (child.space, child.name) == (ZEEBE, "calledDecision")]:
        if not _translate_called_decision(context, node, called):
            return False
    for attribute in list(node.attributes):
        local, value = attribute.rpartition("}")[2], node.get(attribute)
        is_wrong = (local == "resultVariable" and not is_variable(value)) or (
            local == "mapDecisionResult" and value not in _MAPPINGS
        )
        if attribute.startswith("{") and is_wrong:
            del node.attributes[attribute]
            context.report.draw(node, f"{local} {value}", NOT_KNOWN)
    translate_binding(context, node)
    return True


def _translate_called_decision(context: Context, node: Draft, called: Draft) -> bool:
    key, result = called.get("decisionId"), called.get("resultVariable")
    if key.startswith("="):
        value = context.translate(called, key, "zeebe:calledDecision", of=node)
        if value is None:
            return False
        called.attributes["decisionId"] = f"={value}"
    elif not is_key(key):
        return False
    if result and not is_variable(result):
        del called.attributes["resultVariable"]
        context.report.draw(called, f"resultVariable {result}", NOT_KNOWN, of=node)
    return True


NOT_KNOWN = "It is not known here: each output is written under its own name."
_MAPPINGS = frozenset(mapping.value for mapping in ResultMapping)


def _translate_zeebe(context: Context, node: Draft) -> bool:
    if node.name == _RULE and take_elements(node, "calledDecision", zeebe=True):
        make_external(context, node, "zeebe:calledDecision", "")
        return True
    found = take_elements(node, "taskDefinition", zeebe=True)
    if not found:
        return False
    written = found[0].get("type")
    topic = written if not written.startswith("=") else ""
    make_external(context, node, "zeebe:taskDefinition", written, topic)
    if found[0].get("retries"):
        set_retries(context, node, found[0], "zeebe:taskDefinition retries", found[0].get("retries").lstrip("= "))
    headers = [header for group in take_elements(node, "taskHeaders", zeebe=True) for header in group.children]
    for header in headers:
        context.report.draw(header, "zeebe:header", HEADERS, of=node)
    return True


HEADERS = "A worker is given variables, no headers: declare an input instead."


def _translate_delegate(context: Context, node: Draft) -> None:
    kind_name, kind = take_attribute(node, "type")
    topic_name, topic = take_attribute(node, "topic")
    if topic and not topic.startswith(("${", "#{")):
        make_external(context, node, topic_name, topic, topic)
        return
    text_name, text = take_attribute(node, "expression")
    if text and _translate_expression(context, node, text_name, text):
        return
    code_name, code = take_attribute(node, "class", "delegateExpression", "decisionRef", "decisionTableReferenceKey")
    connectors = take_elements(node, "connector")
    _draw_result(context, node)
    if connectors:
        identity = next((child.text for child in connectors[0].children if child.name == "connectorId"), "")
        make_external(context, node, "connector", identity)
    elif text or code or kind or topic:
        what = text_name or code_name or kind_name or topic_name
        make_external(context, node, what, text or code or kind or topic)
    elif node.name == _RULE and _RULE not in KINDS:
        make_external(context, node, _RULE, node.get("implementation"))
    elif node.name == "serviceTask" or (node.name == "sendTask" and not node.get("messageRef")):
        make_external(context, node, node.name, node.get("implementation") or node.get("operationRef"))
    for field in take_elements(node, "field"):
        _translate_field(context, node, field)


def _draw_result(context: Context, node: Draft) -> None:
    what, value = take_attribute(node, "resultVariable", "resultVariableName")
    if what:
        context.report.draw(node, f"{what} {value}".strip(), RESULT)


RESULT = "A worker names the variables that it returns."


def _translate_field(context: Context, node: Draft, field: Draft) -> None:
    """Translate a field that a class would be given, into an input of the worker."""
    values = [child for child in field.children if child.name in ("string", "expression")]
    written = field.get("stringValue") or field.get("expression") or (values[0].text if values else "")
    value = context.translate_value(field, written, f"field {field.get('name')}", of=node)
    if value is None or not is_variable(field.get("name")):
        context.report.draw(field, f"field {field.get('name')}", CODE, of=node)
    else:
        add_extension(node, "input", name=field.get("name"), expression=value)


CODE = "It is code, and nothing of a file runs as code here."


def _translate_expression(context: Context, node: Draft, what: str, text: str) -> bool:
    """Translate an expression that only looks at variables into an assignment of its result."""
    value = context.translate(node, text, what, of=node)
    if value is None:
        return False
    _, result = take_attribute(node, "resultVariable", "resultVariableName")
    if result and is_variable(result):
        node.name = "scriptTask"
        add_extension(node, "assign", name=result, expression=value)
        context.report.translate(node, what, text, f"{result} = {value}")
    else:
        node.name = "task"
        context.report.translate(node, what, text, "passed through: the result is kept nowhere")
    return True


def _translate_script(context: Context, node: Draft) -> None:
    for found in take_elements(node, "script", zeebe=True):
        result = found.get("resultVariable")
        value = context.translate(found, found.get("expression"), "zeebe:script", of=node)
        if value is not None and is_variable(result):
            add_extension(node, "assign", name=result, expression=value)
        else:
            make_external(context, node, "zeebe:script", found.get("expression"))
        return
    script = node.find("script")
    text, language = (script.text if script is not None else ""), node.get("scriptFormat")
    if language.lower() in ("", "postern") and text and is_own_script(text):
        return
    if _translate_single(context, node, text, language):
        return
    _draw_result(context, node)
    node.drop(lambda child: child.name == "script")
    definition = take_elements(node, "taskDefinition", zeebe=True)
    topic = definition[0].get("type") if definition else ""
    before = text or take_attribute(node, "resource")[1] or topic
    make_external(context, node, f"script {language}".strip(), before, topic)


def _translate_single(context: Context, node: Draft, text: str, language: str) -> bool:
    """Translate a script of one expression whose result is kept in a variable."""
    result = peek_attribute(node, "resultVariable", "resultVariableName")
    if language.lower() not in ("juel", "feel") or not is_variable(result):
        return False
    marked = f"={text}" if language.lower() == "feel" else text
    value = context.translate(node, marked, f"script {language}", of=node)
    if value is None:
        return False
    take_attribute(node, "resultVariable", "resultVariableName")
    node.drop(lambda child: child.name == "script")
    add_extension(node, "assign", name=result, expression=value)
    return True


_WRAPPED = ("${", "#{", "=")


def translate_people(context: Context, node: Draft) -> None:
    """Translate the expressions by which a task for people says whose it is and by when; the words are the same."""
    if node.name not in FOR_PEOPLE:
        return
    schedules = [child for child in node.extensions() if child.space == ZEEBE]
    for element in (node, *schedules):
        for key, written in list(element.attributes.items()):
            space, _, name = key.removeprefix("{").rpartition("}")
            if name not in PEOPLE or (space not in DELEGATES and element is node):
                continue
            what = f"{get_prefix(space or element.space)}:{name}"
            text = written.strip()
            is_whole = text.startswith(_WRAPPED) and not _has_several(text)
            found = context.translate(element, text, what, of=node) if is_whole else None
            if found is not None and found != text:
                element.attributes[key] = f"={found}"
            else:
                context.report.translate(element, what, text, CODE if is_whole and found is None else name, of=node)


def _has_several(text: str) -> bool:
    """Return whether a text holds more than one expression: each is read where the task is."""
    return text.count("${") + text.count("#{") > 1 or (not text.startswith("=") and not text.endswith("}"))
