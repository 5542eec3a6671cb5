"""Diagram interchange: where the elements of a file are drawn. The notations differ in names, not in what is said."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from processes.workflows.engine.bpmn import xml
from processes.workflows.engine.diagram.model import Index, Model, children, find_referred
from processes.workflows.engine.diagram.numbers import find_number, find_size
from processes.workflows.engine.diagram.picture import Bounds, DrawnElement, Edge, Picture, Point, Shape

MOST_SHAPES = 5_000
MOST_EDGES = 10_000
MOST_POINTS = 200
"""Of one edge; of more the last one is kept, it has the arrow."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A shape or an edge as the file has it, beside the element that it is of."""

    node: xml.XmlElement
    element: xml.XmlElement
    label: Bounds | None
    index: Index
    has_children: bool = False
    """Something that lies in it is drawn too."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a notation writes its interchange."""

    prefix: str
    """Of the names of what is drawn: `BPMN` in `BPMNShape`."""
    reference: str
    """The attribute that names the element of a shape or an edge; `target` that of where an edge leads."""
    target: str
    space: str
    """The namespace of what is drawn; `boxes` that of bounds, `lines` that of waypoints."""
    boxes: str
    lines: str
    can_collapse: frozenset[str]
    """The kinds that may hide what lies in them."""
    gather: Callable[[xml.XmlElement], Model]
    each_plane: Callable[[xml.XmlElement], Iterator[xml.XmlElement]]
    find_title: Callable[[xml.XmlElement], str]
    make_shape: Callable[[Drawn, Bounds], Shape]
    describe_edge: Callable[[Drawn], DrawnElement]


def find_picture(root: xml.XmlElement, dialect: Dialect) -> Picture | None:
    """Read the first diagram that shows something; None when there is none, or more than can be drawn."""
    model = dialect.gather(root)
    for plane in dialect.each_plane(root):
        shapes = _read_shapes(plane, model, dialect)
        if len(shapes) > MOST_SHAPES or len(plane.children) > MOST_SHAPES + MOST_EDGES:
            return None
        if shapes:
            return _compose(dialect.find_title(root), plane, shapes, model, dialect)
    return None


def _read_shapes(plane: xml.XmlElement, model: Model, dialect: Dialect) -> dict[str, Shape]:
    """Read the shapes by the id of their element; of two for the same one the first counts."""
    found: dict[str, tuple[xml.XmlElement, Bounds]] = {}
    for node in children(plane, dialect.space, f"{dialect.prefix}Shape"):
        element = find_referred(node.get(dialect.reference), model.elements)
        bounds = _find_bounds(node, dialect)
        if element is not None and bounds is not None:
            found.setdefault(element.id, (node, bounds))
    parents = {model.parents[key] for key in found}
    return {
        key: dialect.make_shape(_look_at(node, key, model, dialect, has_children=key in parents), bounds)
        for key, (node, bounds) in found.items()
    }


def _look_at(node: xml.XmlElement, key: str, model: Model, dialect: Dialect, *, has_children: bool = False) -> Drawn:
    label = next(children(node, dialect.space, f"{dialect.prefix}Label"), None)
    place = None if label is None else _find_bounds(label, dialect)
    return Drawn(node, model.elements[key], place, model.elements, has_children)


def _compose(title: str, plane: xml.XmlElement, shapes: dict[str, Shape], model: Model, dialect: Dialect) -> Picture:
    collapsed = {
        key for key, shape in shapes.items() if shape.element.kind in dialect.can_collapse and not shape.is_expanded
    }
    shown_by = {
        key: shown for key in model.elements if (shown := _find_shown(key, shapes, collapsed, model)) is not None
    }
    edges = _read_edges(plane, model, dialect)
    return Picture(
        title=title,
        shapes=tuple(shape for key, shape in shapes.items() if shown_by[key] == key),
        edges=tuple(edge for edge in edges if collapsed.isdisjoint(model.lineage(edge.element.id))),
        shown_by=shown_by,
    )


def _find_shown(key: str, shapes: Mapping[str, Shape], collapsed: set[str], model: Model) -> str | None:
    """Find the shape that stands for an element: the outermost collapsed one it lies in, else the nearest one."""
    drawn = [each for each in model.lineage(key) if each in shapes]
    around = [each for each in drawn if each != key and each in collapsed]
    if around:
        return around[-1]
    return drawn[0] if drawn else None


def _read_edges(plane: xml.XmlElement, model: Model, dialect: Dialect) -> Iterator[Edge]:
    seen: set[tuple[str, str]] = set()
    for node in children(plane, dialect.space, f"{dialect.prefix}Edge"):
        element = find_referred(node.get(dialect.reference), model.elements)
        points = _read_points(node, dialect)
        if element is None or (element.id, node.get(dialect.target)) in seen or len(points) < 2:
            continue
        seen.add((element.id, node.get(dialect.target)))
        drawn = _look_at(node, element.id, model, dialect)
        yield Edge(element=dialect.describe_edge(drawn), points=points, label=drawn.label)


def _read_points(drawn: xml.XmlElement, dialect: Dialect) -> tuple[Point, ...]:
    """Read the corners of an edge: none when one of them cannot be read, and no corner twice in a row."""
    points: list[Point] = []
    for node in children(drawn, dialect.lines, "waypoint"):
        x, y = find_number(node.get("x")), find_number(node.get("y"))
        if x is None or y is None:
            return ()
        if not points or points[-1] != Point(x, y):
            points.append(Point(x, y))
    return tuple(points if len(points) <= MOST_POINTS else points[: MOST_POINTS - 1] + points[-1:])


def _find_bounds(drawn: xml.XmlElement, dialect: Dialect) -> Bounds | None:
    node = next(children(drawn, dialect.boxes, "Bounds"), None)
    if node is None:
        return None
    x, y = find_number(node.get("x")), find_number(node.get("y"))
    width, height = find_size(node.get("width")), find_size(node.get("height"))
    if x is None or y is None or width is None or height is None:
        return None
    return Bounds(x, y, width, height)
