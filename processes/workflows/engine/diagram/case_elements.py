"""What the CMMN model says of an element, as far as it is seen in a drawing. A plan item looks as its definition."""

from collections.abc import Iterator

from processes.workflows.engine.bpmn import xml
from processes.workflows.engine.diagram.model import Index, find_referred, is_true, shorten
from processes.workflows.engine.diagram.picture import DrawnElement

MODEL = "http://www.omg.org/spec/CMMN/20151109/MODEL"
ITEMS = frozenset({"planItem", "discretionaryItem"})
CRITERIA = frozenset({"entryCriterion", "exitCriterion"})

_RULES = {"manualActivationRule": "manual", "requiredRule": "required", "repetitionRule": "repetition"}
_WITHOUT_RULES = frozenset({"eventListener", "timerEventListener", "userEventListener"})


def describe(node: xml.XmlElement, index: Index) -> DrawnElement:
    look = find_definition(node, index) or node
    return DrawnElement(
        id=node.id,
        kind=look.name,
        name=_find_name(node) or _find_name(look),
        markers=tuple(_find_markers(node, look)),
        variant=node.get("associationDirection").lower(),
    )


def describe_connector(node: xml.XmlElement, index: Index, *, shows_event: bool) -> DrawnElement:
    """Describe an edge: an on-part is labelled by its name, and by its standard event where that is shown."""
    found = describe(node, index)
    event = node.find("standardEvent") if shows_event and node.name.endswith("OnPart") else None
    words = [found.name, "" if event is None else shorten(event.text)]
    return DrawnElement(found.id, found.kind, " · ".join(filter(None, words)), variant=found.variant)


def find_definition(node: xml.XmlElement, index: Index) -> xml.XmlElement | None:
    """Find what a plan item is an item of."""
    return find_referred(node.get("definitionRef"), index) if node.name in ITEMS else None


def _find_name(node: xml.XmlElement) -> str:
    if node.name == "textAnnotation":
        text = node.find("text")
        return "" if text is None else shorten(text.text)
    return shorten(node.get("name"))


def _find_markers(node: xml.XmlElement, look: xml.XmlElement) -> Iterator[str]:
    if look.name in ("stage", "casePlanModel") and is_true(look, "autoComplete"):
        yield "auto_complete"
    control = node.find("itemControl") or look.find("defaultControl")
    if control is None or look.name in _WITHOUT_RULES:
        return
    for rule, marker in _RULES.items():
        if control.find(rule) is not None:
            yield marker
