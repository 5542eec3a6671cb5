"""The picture of a case: the diagram interchange of CMMN."""

from collections.abc import Iterator

from processes.workflows.engine.bpmn import xml
from processes.workflows.engine.diagram import interchange
from processes.workflows.engine.diagram.case_elements import (
    CRITERIA,
    ITEMS,
    MODEL,
    describe,
    describe_connector,
    find_definition,
)
from processes.workflows.engine.diagram.case_plan import TAB
from processes.workflows.engine.diagram.interchange import Dialect, Drawn
from processes.workflows.engine.diagram.model import Model, children, gather, is_true, shorten
from processes.workflows.engine.diagram.picture import Bounds, DrawnElement, Picture, Shape

_CMMNDI = "http://www.omg.org/spec/CMMN/20151109/CMMNDI"


def find_picture(root: xml.XmlElement) -> Picture | None:
    return interchange.find_picture(root, _DIALECT)


def _gather(root: xml.XmlElement) -> Model:
    """Note what lies in what: a stage is seen as its plan item, and a criterion sits on its item, not in it."""
    model = gather(root)
    lying = dict(model.parents)
    stages: set[str] = set()
    for key, node in model.elements.items():
        around = model.elements.get(lying[key])
        if node.name in CRITERIA and around is not None and around.name in ITEMS:
            model.parents[key] = lying[around.id]
        definition = find_definition(node, model.elements)
        if definition is not None and definition.name == "stage" and definition.id not in stages:
            stages.add(definition.id)
            model.parents[definition.id] = key
    return model


def _each_plane(root: xml.XmlElement) -> Iterator[xml.XmlElement]:
    for interchanged in children(root, _CMMNDI, "CMMNDI"):
        yield from children(interchanged, _CMMNDI, "CMMNDiagram")


def _find_title(root: xml.XmlElement) -> str:
    """Find what the drawing is called: the first name among cases and their plans, else the id of a case."""
    cases = list(children(root, MODEL, "case"))
    plans = [plan for case in cases for plan in children(case, MODEL, "casePlanModel")]
    names = [node.get("name") for node in (*cases, *plans)]
    return next((shorten(text) for text in (*names, *(case.id for case in cases)) if text), "")


def _make_shape(drawn: Drawn, bounds: Bounds) -> Shape:
    element = describe(drawn.element, drawn.index)
    return Shape(
        element=element,
        bounds=bounds,
        label=drawn.label,
        is_expanded=not is_true(drawn.node, "isCollapsed"),
        overhang=TAB if element.kind == "casePlanModel" else 0,
    )


def _describe_edge(drawn: Drawn) -> DrawnElement:
    # A file that does not say whether the event is shown says it by a place for the label.
    shows_event = is_true(drawn.node, "isStandardEventVisible", otherwise=drawn.label is not None)
    return describe_connector(drawn.element, drawn.index, shows_event=shows_event)


_DIALECT = Dialect(
    prefix="CMMN",
    reference="cmmnElementRef",
    target="targetCMMNElementRef",
    space=_CMMNDI,
    boxes="http://www.omg.org/spec/CMMN/20151109/DC",
    lines="http://www.omg.org/spec/CMMN/20151109/DI",
    can_collapse=frozenset({"stage"}),
    gather=_gather,
    each_plane=_each_plane,
    find_title=_find_title,
    make_shape=_make_shape,
    describe_edge=_describe_edge,
)
