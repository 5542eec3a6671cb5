"""The picture of a process: BPMN diagram interchange, and how its elements are described."""

from collections.abc import Iterator

from processes.workflows.engine.bpmn import xml
from processes.workflows.engine.diagram import interchange
from processes.workflows.engine.diagram.interchange import (
    ElementsById,
    InterchangeDialect,
    InterchangeNode,
    children,
    find_reference,
    index_model,
    is_attribute_true,
    shorten_name,
)
from processes.workflows.engine.diagram.picture import Bounds, DrawnElement, Picture, Shape

MODEL = "http://www.omg.org/spec/BPMN/20100524/MODEL"
SUB_PROCESSES = frozenset({"subProcess", "transaction", "adHocSubProcess"})
_BPMNDI = "http://www.omg.org/spec/BPMN/20100524/DI"
_DEFINITION = "EventDefinition"
_TRIGGERS = {"conditional": "condition", "compensate": "compensation"}
_GATEWAYS = frozenset(
    {"exclusiveGateway", "parallelGateway", "inclusiveGateway", "eventBasedGateway", "complexGateway"}
)


def find_picture(root: xml.XmlElement) -> Picture | None:
    return interchange.find_picture(root, _DIALECT)


def _find_title(root: xml.XmlElement) -> str:
    """Return the title: the first name among collaborations and processes, else the id of a process."""
    processes = list(children(root, MODEL, "process"))
    names = [node.get("name") for node in (*children(root, MODEL, "collaboration"), *processes)]
    return next((shorten_name(text) for text in (*names, *(node.id for node in processes)) if text), "")


def _make_shape(drawn: InterchangeNode, bounds: Bounds) -> Shape:
    return Shape(
        element=describe_element(drawn.element, drawn.index),
        bounds=bounds,
        label=drawn.label,
        is_expanded=_is_expanded(drawn),
        is_horizontal=drawn.node.get("isHorizontal") != "false",
        has_marker=drawn.node.get("isMarkerVisible") != "false",
    )


def _is_expanded(drawn: InterchangeNode) -> bool:
    """Return whether the inside is shown: as the file says, else whether anything in it has a shape."""
    if drawn.element.name == "participant":
        return drawn.element.get("processRef") != ""
    return drawn.has_children if drawn.node.get("isExpanded") == "" else drawn.node.get("isExpanded") == "true"


def describe_element(node: xml.XmlElement, index: ElementsById) -> DrawnElement:
    source = find_reference(node.get("sourceRef"), index) if node.name == "sequenceFlow" else None
    return DrawnElement(
        id=node.id,
        kind=node.name,
        name=_find_name(node, index),
        trigger=_find_trigger(node, index),
        is_interrupting=is_attribute_true(node, "cancelActivity", otherwise=True)
        and is_attribute_true(node, "isInterrupting", otherwise=True),
        is_event_triggered=is_attribute_true(node, "triggeredByEvent"),
        markers=tuple(_find_markers(node)),
        variant=_find_variant(node),
        is_default=source is not None and find_reference(source.get("default"), index) is node,
        is_conditional=_is_conditional(node, index),
    )


def _find_name(node: xml.XmlElement, index: ElementsById) -> str:
    if node.name == "textAnnotation":
        text = node.find("text")
        return "" if text is None else shorten_name(text.text)
    if node.name == "group":
        value = find_reference(node.get("categoryValueRef"), index)
        return "" if value is None else shorten_name(value.get("value"))
    return shorten_name(node.get("name"))


def _find_trigger(node: xml.XmlElement, index: ElementsById) -> str:
    triggers = list(_each_trigger(node, index))
    if len(triggers) > 1:
        return "parallel_multiple" if is_attribute_true(node, "parallelMultiple") else "multiple"
    return triggers[0] if triggers else ""


def _each_trigger(node: xml.XmlElement, index: ElementsById) -> Iterator[str]:
    for child in _children(node):
        name = child.name
        if name == "eventDefinitionRef":
            referred = find_reference(child.text, index)
            name = "" if referred is None else referred.name
        if name.endswith(_DEFINITION):
            plain = name.removesuffix(_DEFINITION)
            yield _TRIGGERS.get(plain, plain)


def _find_markers(node: xml.XmlElement) -> Iterator[str]:
    for child in _children(node):
        if child.name == "standardLoopCharacteristics":
            yield "loop"
        elif child.name == "multiInstanceLoopCharacteristics":
            yield "sequential" if is_attribute_true(child, "isSequential") else "parallel"
        elif child.name == "participantMultiplicity":
            yield "parallel"
    if is_attribute_true(node, "isForCompensation"):
        yield "compensation"
    if node.name == "adHocSubProcess":
        yield "ad_hoc"


def _find_variant(node: xml.XmlElement) -> str:
    if node.name == "eventBasedGateway" and is_attribute_true(node, "instantiate"):
        return (node.get("eventGatewayType") or "exclusive").lower()
    if node.name == "association":
        return node.get("associationDirection").lower()
    return ""


def _is_conditional(node: xml.XmlElement, index: ElementsById) -> bool:
    if node.name != "sequenceFlow" or node.find("conditionExpression") is None:
        return False
    source = find_reference(node.get("sourceRef"), index)
    return source is not None and source.name not in _GATEWAYS


def _children(node: xml.XmlElement) -> Iterator[xml.XmlElement]:
    return (child for child in node.children if child.space == MODEL)


_DIALECT = InterchangeDialect(
    prefix="BPMN",
    reference="bpmnElement",
    target="",
    space=_BPMNDI,
    boxes="http://www.omg.org/spec/DD/20100524/DC",
    lines="http://www.omg.org/spec/DD/20100524/DI",
    can_collapse=SUB_PROCESSES,
    build_index=index_model,
    each_plane=lambda root: (
        plane for diagram in children(root, _BPMNDI, "BPMNDiagram") for plane in children(diagram, _BPMNDI, "BPMNPlane")
    ),
    find_title=_find_title,
    make_shape=_make_shape,
    describe_edge=lambda drawn: describe_element(drawn.element, drawn.index),
)
