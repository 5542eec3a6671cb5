"""Which decision a business rule task (BPMN) or a decision task (CMMN) calls, whichever tool has written it.

- `postern:decision="key"`, and `postern:result="name"` for the variable of the result.
- `decisionRef`, `resultVariable` and `mapDecisionResult` of Camunda 7 and what follows it.
- `<zeebe:calledDecision decisionId="…" resultVariable="…"/>` of Camunda 8.
- `decisionTableReferenceKey` or `decisionRef` of Flowable and Activiti, as an attribute or as a `field`.

Without a variable each output is written under its own name. The newest revision is evaluated, or the one that
`postern:revision` gives the number of, or the newest one with the version tag that `postern:tag` gives.
"""

from dataclasses import replace

from processes.workflows.engine.bpmn.assignments import is_variable
from processes.workflows.engine.bpmn.extensions import Extensions
from processes.workflows.engine.bpmn.file import Subject, is_key, quote
from processes.workflows.engine.bpmn.revisions import read_revision
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.definition import DecisionCall, ResultMapping

_REFERENCES = ("decisionRef", "decisionTableReferenceKey", "decisionReferenceKey", "decisionServiceReferenceKey")

_MAPPINGS = {mapping.value: mapping for mapping in ResultMapping} | {"": ResultMapping.RESULT_LIST}


def read_decision_call(subject: Subject, extensions: Extensions) -> DecisionCall | None:
    """Return the decision that an element calls; None where it names none."""
    call = _read_call(subject, extensions)
    return None if call is None else replace(call, revision=read_revision(subject, extensions))


def _read_call(subject: Subject, extensions: Extensions) -> DecisionCall | None:
    element = subject.element
    written = (child for holder in element.all("extensionElements") for child in holder.children)
    zeebe = next((child for child in written if child.name == "calledDecision"), None)
    if zeebe is not None:
        return _make(subject, zeebe.get("decisionId"), zeebe.get("resultVariable"), ResultMapping.RESULT)
    own = extensions.value("decision")
    if own:
        return _make(subject, own, extensions.value("result"), ResultMapping.RESULT)
    key = _read_reference(subject)
    if not key:
        return None
    variable = _find_attribute(element, "resultVariable")
    named = _find_attribute(element, "mapDecisionResult")
    mapping = _MAPPINGS.get(named)
    if mapping is None:
        subject.refuse(f"There is no mapDecisionResult {quote(named)}.")
    return _make(subject, key, variable, mapping if variable and mapping else ResultMapping.RESULT)


def _read_reference(subject: Subject) -> str:
    element = subject.element
    for name in _REFERENCES:
        found = _find_attribute(element, name) or (element.get(name) if name == "decisionRef" else "")
        if found:
            return found
    expression = element.find("decisionRefExpression")
    if expression is not None and expression.text:
        return f"${{{expression.text.removeprefix('${').removesuffix('}')}}}"
    return next((found for name in _REFERENCES if (found := _find_field(element, name))), "")


def _make(subject: Subject, key: str, variable: str, mapping: ResultMapping) -> DecisionCall:
    expression = None
    if key.startswith(("${", "#{", "=")):
        expression, key = subject.compile(key), ""
    elif not is_key(key := key.rpartition(":")[2]):
        subject.refuse(f"{quote(key)} cannot be the key of a definition.")
    if variable and not is_variable(variable):
        subject.refuse(f"{quote(variable)} cannot be the name of a variable.")
    return DecisionCall(key, expression, variable, mapping)


def _find_attribute(element: XmlElement, name: str) -> str:
    """Return an attribute of any other namespace."""
    return next((value.strip() for key, value in element.attributes.items() if key.endswith(f"}}{name}")), "")


def _find_field(element: XmlElement, name: str) -> str:
    for holder in element.all("extensionElements"):
        for child in holder.children:
            if child.name == "field" and child.get("name") == name:
                return child.get("stringValue") or child.text or next((each.text for each in child.children), "")
    return ""
