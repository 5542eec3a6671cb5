"""DMN files as other tools write them: ids that are missing, decisions and functions in languages that are not run."""

from processes.workflows.engine.bpmn.file import is_key
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.dialects.bindings import translate_version_tag
from processes.workflows.engine.dialects.drafts import Draft, make_draft
from processes.workflows.engine.dialects.identity import make_key
from processes.workflows.engine.dialects.report import Drawn, Report, Translated
from processes.workflows.engine.dmn.expressions import is_read
from processes.workflows.engine.dmn.logic import LOGIC

CODE_DECISION = "It is code, and nothing of a file runs as code here: its result is given from outside."
CODE_FUNCTION = "It is code, and nothing of a file runs as code here: what calls it is refused."


def translate_decision_file(root: XmlElement) -> tuple[XmlElement, Report]:
    """Return a file of decisions as `dmn` reads it, and what was made of it."""
    draft, report = make_draft(root), Report()
    elements = [child for child in draft.own() if child.name in ("decision", "businessKnowledgeModel")]
    ids = {child.id for child in draft.walk() if child.id}
    for place, element in enumerate(elements, start=1):
        if not element.id:
            _name(element, f"{element.name}-{place}", ids, report)
        translate_version_tag(report, element)
    language = draft.get("expressionLanguage")
    decisions = [
        each for each in elements if each.name == "decision" and any(child.name in LOGIC for child in each.own())
    ]
    in_code = [each for each in decisions if _is_code(each, language)]
    if len(in_code) < len(decisions):  # else the file is refused where it is parsed, with the reason
        for decision in in_code:
            decision.drop(lambda child, space=decision.space: child.name in LOGIC and child.space == space)  # type: ignore[misc]
            name = decision.get("name")[:300]
            report.drawn.append(Drawn(decision.id, decision.line, name, "logic", CODE_DECISION))
    for element in elements:
        inner = element.find("encapsulatedLogic") if element.name == "businessKnowledgeModel" else None
        if inner is not None and (inner.get("kind").upper()[:1] not in ("", "F") or _is_code(inner, language)):
            element.drop(lambda child, inner=inner: child is inner)  # type: ignore[misc]
            report.drawn.append(Drawn(element.id, element.line, element.get("name")[:300], element.name, CODE_FUNCTION))
    return draft.freeze(), report


def _name(element: Draft, spare: str, ids: set[str], report: Report) -> None:
    """Give an element an id by its name, the same in every revision."""
    name = make_key(element.get("name"))
    base = name if is_key(name) else spare
    key = next(each for each in (base, *(f"{base}-{number}" for number in range(2, len(ids) + 3))) if each not in ids)
    ids.add(key)
    element.attributes["id"] = key
    report.translated.append(Translated(key, element.line, element.get("name")[:300], "id", "", key))


def _is_code(element: Draft, language: str) -> bool:
    """Return whether any expression in an element is written in a language that is not run."""
    for each in element.walk():
        if each.space != element.space:
            continue
        has_text = bool(each.text) or any(child.name == "text" and child.text for child in each.children)
        written = each.get("expressionLanguage") or (language if each.name in _EXPRESSIONS else "")
        if has_text and written and not is_read(written):
            return True
        if each.name == "functionDefinition" and each.get("kind").upper()[:1] not in ("", "F"):
            return True
    return False


_EXPRESSIONS = frozenset({"literalExpression", "inputExpression", "inputEntry", "outputEntry", "defaultOutputEntry"})
