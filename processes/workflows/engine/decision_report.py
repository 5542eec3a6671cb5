"""What becomes of a file of decisions: what is evaluated, and what is only drawn."""

from processes.workflows.engine.bpmn.extensions import POSTERN
from processes.workflows.engine.bpmn.xml import XmlElement
from processes.workflows.engine.dialects.report import Drawn, Report
from processes.workflows.engine.dialects.vendors import PREFIXES, QUIET, get_prefix
from processes.workflows.engine.dmn.logic import find_logic

UNDECIDED = "It has no logic: its result is given from outside."
ONLY_DRAWN = "It is shown, and has no effect."
UNKNOWN = "It belongs to another engine and has no effect here."
_PICTURES = frozenset(
    {
        "knowledgeSource",
        "textAnnotation",
        "association",
        "group",
        "performanceIndicator",
        "organizationUnit",
        "elementCollection",
        "itemDefinition",
        "decisionService",
        "import",
    }
)


def report_decisions(root: XmlElement, report: Report) -> Report:
    """Fill the lists of a file of decisions that can be evaluated; what was translated of it stands in them."""
    for child in root.children:
        name = " ".join(child.get("name").split())[:300]
        if child.name == "decision" and find_logic(child) is not None:
            report.add_run(child.id, child.line, name, "decision")
        elif child.name == "businessKnowledgeModel" and child.find("encapsulatedLogic") is not None:
            report.add_run(child.id, child.line, name, "business_knowledge_model")
        elif child.name == "decision":
            report.drawn.append(
                Drawn(child.id, child.line, name, child.name, UNDECIDED, is_picture=True, is_whole=True)
            )
        elif child.name in _PICTURES or child.name == "businessKnowledgeModel":
            report.drawn.append(
                Drawn(child.id, child.line, name, child.name, ONLY_DRAWN, is_picture=True, is_whole=True)
            )
        _note_foreign(report, child, name)
    report.sort()
    return report


def _note_foreign(report: Report, element: XmlElement, name: str) -> None:
    """Note what other engines say of an element, except for the variable of an input, which is read."""
    rest = [element]
    while rest:
        each = rest.pop()
        for key in each.attributes:
            space, _, local = key.removeprefix("{").partition("}")
            prefix = get_prefix(space) if local else ""
            if local and local != "inputVariable" and prefix not in QUIET and space in _VENDORS:
                report.drawn.append(Drawn(element.id, each.line, name, f"{prefix}:{local}", UNKNOWN))
        rest += [child for child in each.children if child.space == element.space]


_VENDORS = frozenset(PREFIXES) - {POSTERN}
