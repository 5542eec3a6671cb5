"""The picture of a case: CMMN diagram interchange, and how its elements are described."""

from collections.abc import Iterator

from processes.workflows.engine.bpmn import xml
from processes.workflows.engine.diagram import interchange
from processes.workflows.engine.diagram.interchange import (
    ElementsById,
    InterchangeDialect,
    InterchangeNode,
    ModelIndex,
    children,
    find_reference,
    index_model,
    is_attribute_true,
    shorten_name,
)
from processes.workflows.engine.diagram.picture import Bounds, DrawnElement, Picture, Shape

MODEL = "http://www.omg.org/spec/CMMN/20151109/MODEL"
ITEMS = frozenset({"planItem", "discretionaryItem"})
TAB_HEIGHT = 22.0
"""The tab of a case plan model is drawn above its bounds."""
CRITERIA = frozenset({"entryCriterion", "exitCriterion"})

_RULES = {"manualActivationRule": "manual", "requiredRule": "required", "repetitionRule": "repetition"}
_WITHOUT_RULES = frozenset({"eventListener", "timerEventListener", "userEventListener"})
_CMMNDI = "http://www.omg.org/spec/CMMN/20151109/CMMNDI"


def find_picture(root: xml.XmlElement) -> Picture | None:
    return interchange.find_picture(root, _DIALECT)


def _index_case(root: xml.XmlElement) -> ModelIndex:
    """Index a case: a stage lies in its plan item, and a criterion beside the item on whose border it is drawn."""
    model = index_model(root)
    parents = dict(model.parents)
    stages: set[str] = set()
    for key, node in model.elements.items():
        around = model.elements.get(parents[key])
        if node.name in CRITERIA and around is not None and around.name in ITEMS:
            model.parents[key] = parents[around.id]
        definition = find_definition(node, model.elements)
        if definition is not None and definition.name == "stage" and definition.id not in stages:
            stages.add(definition.id)
            model.parents[definition.id] = key
    return model


def _find_title(root: xml.XmlElement) -> str:
    """Return the title: the first name among cases and their plans, else the id of a case."""
    cases = list(children(root, MODEL, "case"))
    plans = [plan for case in cases for plan in children(case, MODEL, "casePlanModel")]
    names = [node.get("name") for node in (*cases, *plans)]
    return next((shorten_name(text) for text in (*names, *(case.id for case in cases)) if text), "")


def _make_shape(drawn: InterchangeNode, bounds: Bounds) -> Shape:
    element = describe_element(drawn.element, drawn.index)
    return Shape(
        element=element,
        bounds=bounds,
        label=drawn.label,
        is_expanded=not is_attribute_true(drawn.node, "isCollapsed"),
        overhang=TAB_HEIGHT if element.kind == "casePlanModel" else 0,
    )


def describe_element(node: xml.XmlElement, index: ElementsById) -> DrawnElement:
    """Describe an element; a plan item has the kind of its definition and, without a name of its own, its name."""
    definition = find_definition(node, index) or node
    return DrawnElement(
        id=node.id,
        kind=definition.name,
        name=_find_name(node) or _find_name(definition),
        markers=tuple(_find_markers(node, definition)),
        variant=node.get("associationDirection").lower(),
    )


def describe_connector(node: xml.XmlElement, index: ElementsById, *, shows_event: bool) -> DrawnElement:
    """Describe an edge: an on-part is labelled by its name, and by its standard event where that is shown."""
    found = describe_element(node, index)
    event = node.find("standardEvent") if shows_event and node.name.endswith("OnPart") else None
    words = [found.name, "" if event is None else shorten_name(event.text)]
    return DrawnElement(found.id, found.kind, " · ".join(filter(None, words)), variant=found.variant)


def find_definition(node: xml.XmlElement, index: ElementsById) -> xml.XmlElement | None:
    """Return the definition of a plan item; None for other elements."""
    return find_reference(node.get("definitionRef"), index) if node.name in ITEMS else None


def _find_name(node: xml.XmlElement) -> str:
    if node.name == "textAnnotation":
        text = node.find("text")
        return "" if text is None else shorten_name(text.text)
    return shorten_name(node.get("name"))


def _find_markers(node: xml.XmlElement, definition: xml.XmlElement) -> Iterator[str]:
    if definition.name in ("stage", "casePlanModel") and is_attribute_true(definition, "autoComplete"):
        yield "auto_complete"
    control = node.find("itemControl") or definition.find("defaultControl")
    if control is None or definition.name in _WITHOUT_RULES:
        return
    for rule, marker in _RULES.items():
        if control.find(rule) is not None:
            yield marker


_DIALECT = InterchangeDialect(
    prefix="CMMN",
    reference="cmmnElementRef",
    target="targetCMMNElementRef",
    space=_CMMNDI,
    boxes="http://www.omg.org/spec/CMMN/20151109/DC",
    lines="http://www.omg.org/spec/CMMN/20151109/DI",
    can_collapse=frozenset({"stage"}),
    build_index=_index_case,
    each_plane=lambda root: (
        diagram
        for interchanged in children(root, _CMMNDI, "CMMNDI")
        for diagram in children(interchanged, _CMMNDI, "CMMNDiagram")
    ),
    find_title=_find_title,
    make_shape=_make_shape,
    # Modelers that leave the attribute out show the event by giving its label a place.
    describe_edge=lambda drawn: describe_connector(
        drawn.element,
        drawn.index,
        shows_event=is_attribute_true(drawn.node, "isStandardEventVisible", otherwise=drawn.label is not None),
    ),
)
