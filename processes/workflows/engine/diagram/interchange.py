"""Diagram interchange: where the elements of a file are drawn. Notations differ only in the names they use."""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from lxml import etree

from processes.workflows.engine.bpmn import xml
from processes.workflows.engine.bpmn.xml import XmlElement, parse_tree
from processes.workflows.engine.diagram.picture import Bounds, DrawnElement, Edge, Picture, Point, Shape

MAX_NAME = 200

ElementsById = Mapping[str, xml.XmlElement]
"""The elements of the model by their ids."""


@dataclass(slots=True)
class ModelIndex:
    """The elements of the file and their parents, by id. Of two elements with one id the first counts."""

    elements: dict[str, xml.XmlElement] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)

    def lineage(self, key: str) -> Iterator[str]:
        """Yield the id of an element and those of its ancestors, the nearest first."""
        # Stages are nested by reference and may form a ring, so the walk ends where a file's own nesting would.
        for _ in range(xml.MAX_DEPTH):
            if not key:
                return
            yield key
            key = self.parents[key]


MOST_SHAPES = 5_000
MOST_EDGES = 10_000
MOST_POINTS = 200
"""Of one edge; beyond it the last point is kept, where the arrow is."""


@dataclass(frozen=True, slots=True)
class InterchangeNode:
    """A shape or an edge of the file, with the element of the model it refers to."""

    node: xml.XmlElement
    element: xml.XmlElement
    label: Bounds | None
    index: ElementsById
    has_children: bool = False
    """An element inside of it has a shape, too."""


@dataclass(frozen=True, slots=True)
class InterchangeDialect:
    """The names a notation uses in its diagram interchange."""

    prefix: str
    """The prefix of shapes and edges: `BPMN` in `BPMNShape`."""
    reference: str
    """The attribute with the element of a shape or an edge; `target` is the one with the target of an edge."""
    target: str
    space: str
    """The namespace of shapes and edges; `boxes` is that of bounds, `lines` that of waypoints."""
    boxes: str
    lines: str
    can_collapse: frozenset[str]
    """The kinds that may hide what lies in them."""
    build_index: Callable[[xml.XmlElement], ModelIndex]
    each_plane: Callable[[xml.XmlElement], Iterator[xml.XmlElement]]
    find_title: Callable[[xml.XmlElement], str]
    make_shape: Callable[[InterchangeNode, Bounds], Shape]
    describe_edge: Callable[[InterchangeNode], DrawnElement]


def find_picture(root: xml.XmlElement, dialect: InterchangeDialect) -> Picture | None:
    """Return the first diagram with shapes; None when there is none, or one beyond the limits."""
    model = dialect.build_index(root)
    for plane in dialect.each_plane(root):
        shapes = _read_shapes(plane, model, dialect)
        if len(shapes) > MOST_SHAPES or len(plane.children) > MOST_SHAPES + MOST_EDGES:
            return None
        if shapes:
            return _compose_picture(dialect.find_title(root), plane, shapes, model, dialect)
    return None


def _read_shapes(plane: xml.XmlElement, model: ModelIndex, dialect: InterchangeDialect) -> dict[str, Shape]:
    """Return the shapes by the id of their element; of two for the same element the first counts."""
    found: dict[str, tuple[xml.XmlElement, Bounds]] = {}
    for node in children(plane, dialect.space, f"{dialect.prefix}Shape"):
        element = find_reference(node.get(dialect.reference), model.elements)
        bounds = _find_bounds(node, dialect)
        if element is not None and bounds is not None:
            found.setdefault(element.id, (node, bounds))
    parents = {model.parents[key] for key in found}
    return {
        key: dialect.make_shape(_make_node(node, key, model, dialect, has_children=key in parents), bounds)
        for key, (node, bounds) in found.items()
    }


def _make_node(
    node: xml.XmlElement, key: str, model: ModelIndex, dialect: InterchangeDialect, *, has_children: bool = False
) -> InterchangeNode:
    label = next(children(node, dialect.space, f"{dialect.prefix}Label"), None)
    place = None if label is None else _find_bounds(label, dialect)
    return InterchangeNode(node, model.elements[key], place, model.elements, has_children)


def _compose_picture(
    title: str, plane: xml.XmlElement, shapes: dict[str, Shape], model: ModelIndex, dialect: InterchangeDialect
) -> Picture:
    collapsed = {
        key for key, shape in shapes.items() if shape.element.kind in dialect.can_collapse and not shape.is_expanded
    }
    shown_by = {
        key: shown for key in model.elements if (shown := _find_shown_shape(key, shapes, collapsed, model)) is not None
    }
    edges = _read_edges(plane, model, dialect)
    return Picture(
        title=title,
        shapes=tuple(shape for key, shape in shapes.items() if shown_by[key] == key),
        edges=tuple(edge for edge in edges if collapsed.isdisjoint(model.lineage(edge.element.id))),
        shown_by=shown_by,
    )


def _find_shown_shape(key: str, shapes: Mapping[str, Shape], collapsed: set[str], model: ModelIndex) -> str | None:
    """Return the shape that stands for an element: the outermost collapsed one around it, else the nearest one."""
    drawn = [each for each in model.lineage(key) if each in shapes]
    around = [each for each in drawn if each != key and each in collapsed]
    if around:
        return around[-1]
    return drawn[0] if drawn else None


def _read_edges(plane: xml.XmlElement, model: ModelIndex, dialect: InterchangeDialect) -> Iterator[Edge]:
    seen: set[tuple[str, str]] = set()
    for node in children(plane, dialect.space, f"{dialect.prefix}Edge"):
        element = find_reference(node.get(dialect.reference), model.elements)
        points = _read_points(node, dialect)
        if element is None or (element.id, node.get(dialect.target)) in seen or len(points) < 2:
            continue
        seen.add((element.id, node.get(dialect.target)))
        drawn = _make_node(node, element.id, model, dialect)
        yield Edge(element=dialect.describe_edge(drawn), points=points, label=drawn.label)


def _read_points(drawn: xml.XmlElement, dialect: InterchangeDialect) -> tuple[Point, ...]:
    """Return the points of an edge without repetitions; none if one of them is malformed."""
    points: list[Point] = []
    for node in children(drawn, dialect.lines, "waypoint"):
        x, y = parse_coordinate(node.get("x")), parse_coordinate(node.get("y"))
        if x is None or y is None:
            return ()
        if not points or points[-1] != Point(x, y):
            points.append(Point(x, y))
    return tuple(points if len(points) <= MOST_POINTS else points[: MOST_POINTS - 1] + points[-1:])


def _find_bounds(drawn: xml.XmlElement, dialect: InterchangeDialect) -> Bounds | None:
    node = next(children(drawn, dialect.boxes, "Bounds"), None)
    if node is None:
        return None
    x, y = parse_coordinate(node.get("x")), parse_coordinate(node.get("y"))
    width, height = parse_size(node.get("width")), parse_size(node.get("height"))
    if x is None or y is None or width is None or height is None:
        return None
    return Bounds(x, y, width, height)


def index_model(root: xml.XmlElement) -> ModelIndex:
    """Index the elements of the root's namespace by id, with their parents."""
    model = ModelIndex()
    _index_children(model, root, "", root.space)
    return model


def find_reference(reference: str, index: ElementsById) -> xml.XmlElement | None:
    """Return the element a qualified name refers to, with or without its prefix."""
    found = index.get(reference.strip())
    return index.get(reference.strip().rpartition(":")[2]) if found is None else found


def children(node: xml.XmlElement, space: str, name: str) -> Iterator[xml.XmlElement]:
    return (child for child in node.children if child.name == name and child.space == space)


def is_attribute_true(node: xml.XmlElement, attribute: str, *, otherwise: bool = False) -> bool:
    value = node.get(attribute)
    return value in ("true", "1") if value else otherwise


def shorten_name(text: str) -> str:
    """Return a name with trimmed lines, cut to the longest a label may be."""
    # A name may be as long as the file: only the part that can be shown is split.
    lines = [" ".join(line.split()) for line in text[: MAX_NAME * 4].splitlines()]
    clean = "\n".join(line for line in lines if line)
    return clean if len(clean) <= MAX_NAME else clean[: MAX_NAME - 1] + "…"


def _index_children(model: ModelIndex, node: xml.XmlElement, parent: str, space: str) -> None:
    # The XML parser has bounded the depth of this recursion.
    for child in node.children:
        if child.space != space:
            continue
        is_new = child.id != "" and child.id not in model.elements
        if is_new:
            model.elements[child.id] = child
            model.parents[child.id] = parent
        _index_children(model, child, child.id if is_new else parent, space)


def parse_with_drawing(source: bytes) -> XmlElement:
    """Parse a file with its diagram, which `parse_xml` leaves out; raises InvalidDefinition like it."""
    return _convert(parse_tree(source))


def _convert(node: etree._Element) -> XmlElement:
    # A tag without a namespace has no brace; rpartition then leaves all of it as the name.
    space, _, name = str(node.tag).rpartition("}")
    return XmlElement(
        space=_OLDER.sub("http://www.omg.org/spec/CMMN/20151109/", space.removeprefix("{")),
        name=name,
        attributes={str(key): str(value) for key, value in node.attrib.items()},
        text=node.text or "",
        # The tag of a comment or processing instruction is a function, not a text.
        children=tuple(_convert(child) for child in node if isinstance(child.tag, str)),
        line=node.sourceline or 0,
    )


_OLDER = re.compile(r"^http://www\.omg\.org/spec/CMMN/(?:20131201|20150516)/")
"""CMMN before it was adopted, whose drawings are the same."""
MAX_COORDINATE = 100_000.0


def parse_coordinate(text: str) -> float | None:
    """Parse a coordinate; None when it is missing, not finite, or absurdly far out."""
    if not 0 < len(text) <= 40:
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and abs(value) <= MAX_COORDINATE else None


def parse_size(text: str) -> float | None:
    """Parse a width or a height; None when it is too small to draw."""
    value = parse_coordinate(text)
    return value if value is not None and value >= 1 else None
