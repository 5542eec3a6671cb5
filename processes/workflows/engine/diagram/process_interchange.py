"""The picture of a process: the diagram interchange of BPMN."""

from collections.abc import Iterator

from processes.workflows.engine.bpmn import xml
from processes.workflows.engine.diagram import interchange
from processes.workflows.engine.diagram.interchange import Dialect, Drawn
from processes.workflows.engine.diagram.model import children, gather, shorten
from processes.workflows.engine.diagram.picture import Bounds, DrawnElement, Picture, Shape
from processes.workflows.engine.diagram.process_elements import MODEL, SUB_PROCESSES, describe

_BPMNDI = "http://www.omg.org/spec/BPMN/20100524/DI"


def find_picture(root: xml.XmlElement) -> Picture | None:
    return interchange.find_picture(root, _DIALECT)


def _each_plane(root: xml.XmlElement) -> Iterator[xml.XmlElement]:
    for diagram in children(root, _BPMNDI, "BPMNDiagram"):
        yield from children(diagram, _BPMNDI, "BPMNPlane")


def _find_title(root: xml.XmlElement) -> str:
    """Find what the drawing is called: the first name among collaborations and processes, else the id of a process."""
    processes = list(children(root, MODEL, "process"))
    names = [node.get("name") for node in (*children(root, MODEL, "collaboration"), *processes)]
    return next((shorten(text) for text in (*names, *(node.id for node in processes)) if text), "")


def _make_shape(drawn: Drawn, bounds: Bounds) -> Shape:
    return Shape(
        element=describe(drawn.element, drawn.index),
        bounds=bounds,
        label=drawn.label,
        is_expanded=_is_expanded(drawn),
        is_horizontal=drawn.node.get("isHorizontal") != "false",
        has_marker=drawn.node.get("isMarkerVisible") != "false",
    )


def _is_expanded(drawn: Drawn) -> bool:
    """Tell whether the inside is shown: as the file says, else by what there is to show."""
    if drawn.element.name == "participant":
        return drawn.element.get("processRef") != ""
    return drawn.has_children if drawn.node.get("isExpanded") == "" else drawn.node.get("isExpanded") == "true"


def _describe_edge(drawn: Drawn) -> DrawnElement:
    return describe(drawn.element, drawn.index)


_DIALECT = Dialect(
    prefix="BPMN",
    reference="bpmnElement",
    target="",
    space=_BPMNDI,
    boxes="http://www.omg.org/spec/DD/20100524/DC",
    lines="http://www.omg.org/spec/DD/20100524/DI",
    can_collapse=SUB_PROCESSES,
    gather=gather,
    each_plane=_each_plane,
    find_title=_find_title,
    make_shape=_make_shape,
    describe_edge=_describe_edge,
)
