"""What the BPMN model says of an element, as far as it is seen in a drawing."""

from collections.abc import Iterator, Mapping

from processes.workflows.engine.bpmn import xml
from processes.workflows.engine.diagram.picture import Element

MODEL = "http://www.omg.org/spec/BPMN/20100524/MODEL"
LONGEST_NAME = 200

_DEFINITION = "EventDefinition"
_TRIGGERS = {"conditional": "condition", "compensate": "compensation"}
_GATEWAYS = frozenset(
    {"exclusiveGateway", "parallelGateway", "inclusiveGateway", "eventBasedGateway", "complexGateway"}
)

Index = Mapping[str, xml.Element]
"""The elements of the model by their ids."""


def describe(node: xml.Element, index: Index) -> Element:
    return Element(
        id=node.id,
        kind=node.name,
        name=_find_name(node, index),
        trigger=_find_trigger(node, index),
        is_interrupting=_is(node, "cancelActivity", otherwise=True) and _is(node, "isInterrupting", otherwise=True),
        is_event_triggered=_is(node, "triggeredByEvent"),
        markers=tuple(_find_markers(node)),
        variant=_find_variant(node),
        is_default=_is_default(node, index),
        is_conditional=_is_conditional(node, index),
    )


def find_referred(reference: str, index: Index) -> xml.Element | None:
    """Find what a qualified name refers to: with its prefix or without it."""
    found = index.get(reference.strip())
    return index.get(reference.strip().rpartition(":")[2]) if found is None else found


def shorten(text: str) -> str:
    """Trim each line and cut what is longer than a label may be."""
    # Only so much is looked at: a name may be as long as the file.
    lines = [" ".join(line.split()) for line in text[: LONGEST_NAME * 4].splitlines()]
    clean = "\n".join(line for line in lines if line)
    return clean if len(clean) <= LONGEST_NAME else clean[: LONGEST_NAME - 1] + "…"


def _find_name(node: xml.Element, index: Index) -> str:
    if node.name == "textAnnotation":
        text = node.find("text")
        return "" if text is None else shorten(text.text)
    if node.name == "group":
        value = find_referred(node.get("categoryValueRef"), index)
        return "" if value is None else shorten(value.get("value"))
    return shorten(node.get("name"))


def _find_trigger(node: xml.Element, index: Index) -> str:
    triggers = list(_each_trigger(node, index))
    if len(triggers) > 1:
        return "parallel_multiple" if _is(node, "parallelMultiple") else "multiple"
    return triggers[0] if triggers else ""


def _each_trigger(node: xml.Element, index: Index) -> Iterator[str]:
    for child in _children(node):
        name = child.name
        if name == "eventDefinitionRef":
            referred = find_referred(child.text, index)
            name = "" if referred is None else referred.name
        if name.endswith(_DEFINITION):
            plain = name.removesuffix(_DEFINITION)
            yield _TRIGGERS.get(plain, plain)


def _find_markers(node: xml.Element) -> Iterator[str]:
    for child in _children(node):
        if child.name == "standardLoopCharacteristics":
            yield "loop"
        elif child.name == "multiInstanceLoopCharacteristics":
            yield "sequential" if _is(child, "isSequential") else "parallel"
        elif child.name == "participantMultiplicity":
            yield "parallel"
    if _is(node, "isForCompensation"):
        yield "compensation"
    if node.name == "adHocSubProcess":
        yield "ad_hoc"


def _find_variant(node: xml.Element) -> str:
    if node.name == "eventBasedGateway" and _is(node, "instantiate"):
        return (node.get("eventGatewayType") or "exclusive").lower()
    if node.name == "association":
        return node.get("associationDirection").lower()
    return ""


def _is_default(node: xml.Element, index: Index) -> bool:
    source = find_referred(node.get("sourceRef"), index) if node.name == "sequenceFlow" else None
    return source is not None and find_referred(source.get("default"), index) is node


def _is_conditional(node: xml.Element, index: Index) -> bool:
    if node.name != "sequenceFlow" or node.find("conditionExpression") is None:
        return False
    source = find_referred(node.get("sourceRef"), index)
    return source is not None and source.name not in _GATEWAYS


def _children(node: xml.Element) -> Iterator[xml.Element]:
    return (child for child in node.children if child.space == MODEL)


def _is(node: xml.Element, attribute: str, *, otherwise: bool = False) -> bool:
    value = node.get(attribute)
    return value in ("true", "1") if value else otherwise
