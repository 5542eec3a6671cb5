"""Diagram interchange of BPMN: where the elements of a file are drawn."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from processes.workflows.engine.bpmn import xml
from processes.workflows.engine.diagram.elements import MODEL, describe, find_referred, shorten
from processes.workflows.engine.diagram.numbers import find_number, find_size
from processes.workflows.engine.diagram.picture import Bounds, Edge, Picture, Point, Shape

MOST_SHAPES = 5_000
MOST_EDGES = 10_000
MOST_POINTS = 200
"""Of one edge; of more the last one is kept, it has the arrow."""

_BPMNDI = "http://www.omg.org/spec/BPMN/20100524/DI"
_DC = "http://www.omg.org/spec/DD/20100524/DC"
_DI = "http://www.omg.org/spec/DD/20100524/DI"
_CAN_COLLAPSE = frozenset({"subProcess", "transaction", "adHocSubProcess"})


@dataclass(slots=True)
class _Model:
    """The elements of the file by their ids, and the id of what each lies in. Of two with one id the first counts."""

    elements: dict[str, xml.Element] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)

    def lineage(self, key: str) -> Iterator[str]:
        while key:
            yield key
            key = self.parents[key]


def find_picture(root: xml.Element) -> Picture | None:
    """Read the first diagram that shows something; None when there is none, or more than can be drawn."""
    model = _Model()
    _gather(model, root, "")
    for plane in _each_plane(root):
        shapes = _read_shapes(plane, model)
        if len(shapes) > MOST_SHAPES or len(plane.children) > MOST_SHAPES + MOST_EDGES:
            return None
        if shapes:
            return _compose(root, plane, shapes, model)
    return None


def _gather(model: _Model, node: xml.Element, parent: str) -> None:
    """Note what lies in what. The reader has limited how deep that can be."""
    for child in node.children:
        if child.space != MODEL:
            continue
        is_new = child.id != "" and child.id not in model.elements
        if is_new:
            model.elements[child.id] = child
            model.parents[child.id] = parent
        _gather(model, child, child.id if is_new else parent)


def _each_plane(root: xml.Element) -> Iterator[xml.Element]:
    for diagram in _children(root, _BPMNDI, "BPMNDiagram"):
        yield from _children(diagram, _BPMNDI, "BPMNPlane")


def _read_shapes(plane: xml.Element, model: _Model) -> dict[str, Shape]:
    """Read the shapes by the id of their element; of two for the same one the first counts."""
    found: dict[str, tuple[xml.Element, Bounds]] = {}
    for drawn in _children(plane, _BPMNDI, "BPMNShape"):
        node = find_referred(drawn.get("bpmnElement"), model.elements)
        bounds = _find_bounds(drawn)
        if node is not None and bounds is not None:
            found.setdefault(node.id, (drawn, bounds))
    parents = {model.parents[key] for key in found}
    return {
        key: Shape(
            element=describe(model.elements[key], model.elements),
            bounds=bounds,
            label=_find_label(drawn),
            is_expanded=_is_expanded(drawn, model.elements[key], has_children=key in parents),
            is_horizontal=drawn.get("isHorizontal") != "false",
            has_marker=drawn.get("isMarkerVisible") != "false",
        )
        for key, (drawn, bounds) in found.items()
    }


def _is_expanded(drawn: xml.Element, node: xml.Element, *, has_children: bool) -> bool:
    """Tell whether the inside is shown: as the file says, else by what there is to show."""
    if node.name == "participant":
        return node.get("processRef") != ""
    return has_children if drawn.get("isExpanded") == "" else drawn.get("isExpanded") == "true"


def _compose(root: xml.Element, plane: xml.Element, shapes: dict[str, Shape], model: _Model) -> Picture:
    shown_by = {key: shown for key in model.elements if (shown := _find_shown(key, shapes, model)) is not None}
    return Picture(
        title=_find_title(root),
        shapes=tuple(shape for key, shape in shapes.items() if shown_by[key] == key),
        edges=tuple(edge for edge in _read_edges(plane, model) if _is_seen(edge.element.id, shapes, model)),
        shown_by=shown_by,
    )


def _find_shown(key: str, shapes: Mapping[str, Shape], model: _Model) -> str | None:
    """Find the shape that stands for an element: the outermost collapsed one it lies in, else the nearest one."""
    drawn = [each for each in model.lineage(key) if each in shapes]
    collapsed = [each for each in drawn if each != key and _is_collapsed(shapes[each])]
    if collapsed:
        return collapsed[-1]
    return drawn[0] if drawn else None


def _is_seen(key: str, shapes: Mapping[str, Shape], model: _Model) -> bool:
    return not any(each in shapes and _is_collapsed(shapes[each]) for each in model.lineage(key))


def _is_collapsed(shape: Shape) -> bool:
    return shape.element.kind in _CAN_COLLAPSE and not shape.is_expanded


def _read_edges(plane: xml.Element, model: _Model) -> Iterator[Edge]:
    seen: set[str] = set()
    for drawn in _children(plane, _BPMNDI, "BPMNEdge"):
        node = find_referred(drawn.get("bpmnElement"), model.elements)
        points = _read_points(drawn)
        if node is None or node.id in seen or len(points) < 2:
            continue
        seen.add(node.id)
        yield Edge(element=describe(node, model.elements), points=points, label=_find_label(drawn))


def _read_points(drawn: xml.Element) -> tuple[Point, ...]:
    """Read the corners of an edge: none when one of them cannot be read, and no corner twice in a row."""
    points: list[Point] = []
    for node in _children(drawn, _DI, "waypoint"):
        x, y = find_number(node.get("x")), find_number(node.get("y"))
        if x is None or y is None:
            return ()
        if not points or points[-1] != Point(x, y):
            points.append(Point(x, y))
    return tuple(points if len(points) <= MOST_POINTS else points[: MOST_POINTS - 1] + points[-1:])


def _find_label(drawn: xml.Element) -> Bounds | None:
    label = next(_children(drawn, _BPMNDI, "BPMNLabel"), None)
    return None if label is None else _find_bounds(label)


def _find_bounds(drawn: xml.Element) -> Bounds | None:
    node = next(_children(drawn, _DC, "Bounds"), None)
    if node is None:
        return None
    x, y = find_number(node.get("x")), find_number(node.get("y"))
    width, height = find_size(node.get("width")), find_size(node.get("height"))
    if x is None or y is None or width is None or height is None:
        return None
    return Bounds(x, y, width, height)


def _children(node: xml.Element, space: str, name: str) -> Iterator[xml.Element]:
    return (child for child in node.children if child.name == name and child.space == space)


def _find_title(root: xml.Element) -> str:
    """Find what the drawing is called: the first name among collaborations and processes, else the id of a process."""
    processes = list(_children(root, MODEL, "process"))
    names = [node.get("name") for node in (*_children(root, MODEL, "collaboration"), *processes)]
    return next((shorten(text) for text in (*names, *(node.id for node in processes)) if text), "")
