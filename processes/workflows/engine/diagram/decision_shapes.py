"""The requirement graph of DMN: decisions, inputs, functions and sources, and what each requires.

Places come from the diagram interchange of the file; where it has none, or not for everything, the graph is laid out:
what requires something stands above it.
"""

import math
from collections.abc import Iterator

from lxml import etree

from processes.workflows.engine.bpmn import xml
from processes.workflows.engine.diagram.colours import ShapeStyle
from processes.workflows.engine.diagram.interchange import (
    parse_coordinate,
    parse_size,
    shorten_name,
)
from processes.workflows.engine.diagram.picture import (
    Bounds,
    DrawnElement,
    DrawShape,
    Edge,
    Layer,
    Notation,
    Picture,
    Point,
    Shape,
)
from processes.workflows.engine.diagram.process_shapes import write_name
from processes.workflows.engine.diagram.svg import add_element, make_path

MOST_SHAPES = 500
MOST_LINKS = 2_000
"""A graph of more is not drawn."""
_WIDTH, _HEIGHT = 160.0, 70.0
_GAP, _RISE = 40.0, 70.0
"""Between shapes of one layer, and between layers, of a graph that is laid out."""
_NODES = frozenset({"decision", "inputData", "businessKnowledgeModel", "knowledgeSource", "decisionService"})
_REQUIREMENTS = frozenset({"informationRequirement", "knowledgeRequirement", "authorityRequirement"})


def find_picture(root: xml.XmlElement) -> Picture | None:
    """Return the requirement graph of a file; None where there is nothing to connect, or too much."""
    elements = {child.id: child for child in root.children if child.name in _NODES and child.id}
    places = _read_places(root, elements)
    links = [(kind, source, target) for kind, source, target in _list_links(elements) if source in elements]
    connected = {end for _, source, target in links for end in (source, target)}
    # A service surrounds what it offers, by its place: without one it is not shown.
    shown = [key for key, each in elements.items() if key in places or key in connected or each.name == "decision"]
    if not 1 < len(shown) <= MOST_SHAPES or len(links) > MOST_LINKS:
        return None
    if not all(key in places for key in shown):
        places = _lay_out([key for key in shown if elements[key].name != "decisionService"], links)
    shapes = tuple(_make_shape(elements[key], bounds) for key, bounds in places.items() if key in elements)
    edges = tuple(
        Edge(
            DrawnElement(f"{source}~{target}", kind),
            (_leave(places[source], places[target].centre), _leave(places[target], places[source].centre)),
        )
        for kind, source, target in links
        if source in places and target in places and source != target
    )
    title = shorten_name(root.get("name")) or root.id
    return Picture(title, shapes, edges, {shape.element.id: shape.element.id for shape in shapes})


def _list_links(elements: dict[str, xml.XmlElement]) -> Iterator[tuple[str, str, str]]:
    """Yield each requirement: its kind, what is required, and what requires it."""
    seen: set[tuple[str, str, str]] = set()
    for key, element in elements.items():
        for requirement in element.children:
            if requirement.name not in _REQUIREMENTS:
                continue
            for required in requirement.children:
                link = (requirement.name, required.get("href").rpartition("#")[2], key)
                if link not in seen:
                    seen.add(link)
                    yield link


def _read_places(root: xml.XmlElement, elements: dict[str, xml.XmlElement]) -> dict[str, Bounds]:
    """Return where the file draws its elements: by DMNDI, or as the modeler of DMN 1.1 has written it."""
    found: dict[str, Bounds] = {}
    rest = [(root, "")]
    while rest:
        node, key = rest.pop()
        if node.name == "DMNShape":
            key = node.get("dmnElementRef").rpartition(":")[2]
        elif node.id in elements:
            key = node.id
        if node.name in ("Bounds", "bounds") and key in elements:
            bounds = _read_bounds(node)
            if bounds is not None:
                found.setdefault(key, bounds)
        rest += [(child, key) for child in node.children if child.name != "DMNLabel"]
    return found


def _read_bounds(node: xml.XmlElement) -> Bounds | None:
    x, y = parse_coordinate(node.get("x")), parse_coordinate(node.get("y"))
    width, height = parse_size(node.get("width")), parse_size(node.get("height"))
    if x is None or y is None or width is None or height is None:
        return None
    return Bounds(x, y, width, height)


def _lay_out(keys: list[str], links: list[tuple[str, str, str]]) -> dict[str, Bounds]:
    """Place what requires nothing at the bottom, and everything else above what it requires."""
    layers = dict.fromkeys(keys, 0)
    # As often as there are layers at most: a ring of requirements, which is refused elsewhere, ends here.
    for _ in keys:
        is_settled = True
        for _, source, target in links:
            if source in layers and target in layers and layers[source] >= layers[target]:
                layers[target] = layers[source] + 1
                is_settled = False
        if is_settled:
            break
    rows: dict[int, list[str]] = {}
    for key in keys:
        rows.setdefault(layers[key], []).append(key)
    widest = max(len(row) for row in rows.values()) * (_WIDTH + _GAP)
    top = max(rows)
    return {
        key: Bounds(widest * (place + 0.5) / len(row) - _WIDTH / 2, (top - layer) * (_HEIGHT + _RISE), _WIDTH, _HEIGHT)
        for layer, row in rows.items()
        for place, key in enumerate(row)
    }


def _make_shape(element: xml.XmlElement, bounds: Bounds) -> Shape:
    return Shape(DrawnElement(element.id, element.name, shorten_name(element.get("name")) or element.id[:200]), bounds)


def _leave(box: Bounds, towards: Point) -> Point:
    centre = box.centre
    x, y = towards.x - centre.x, towards.y - centre.y
    sides = [box.width / 2 / abs(x) if x else math.inf, box.height / 2 / abs(y) if y else math.inf]
    part = min(*sides, 1.0)
    return Point(centre.x + x * part, centre.y + y * part)


def draw_box(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    """Draw a decision, or anything else that has a name."""
    add_element(group, "rect", x=0, y=0, width=shape.bounds.width, height=shape.bounds.height, **_paint(style))
    write_name(group, shape, 6, shape.bounds.height - 6)


def draw_input(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    """Draw a box with round ends."""
    width, height = shape.bounds.width, shape.bounds.height
    add_element(group, "rect", x=0, y=0, width=width, height=height, rx=min(width, height) / 2, **_paint(style))
    write_name(group, shape, 6, height - 6, aside=12)


def draw_function(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    """Draw a box with two corners cut off."""
    width, height = shape.bounds.width, shape.bounds.height
    cut = min(16.0, width / 4, height / 4)
    corners = ((cut, 0), (width, 0), (width, height - cut), (width - cut, height), (0, height), (0, cut))
    add_element(group, "path", d=make_path(*corners, closed=True), **_paint(style))
    write_name(group, shape, 6, height - 6, aside=8)


def draw_source(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    """Draw a sheet with a wavy lower edge."""
    width, height = shape.bounds.width, shape.bounds.height
    wave = min(10.0, height / 5)
    bottom = height - wave
    path = (
        f"M0 0H{width:.2f}V{bottom:.2f}C{width * 0.75:.2f} {bottom - 2 * wave:.2f} {width * 0.25:.2f}"
        f" {bottom + 2 * wave:.2f} 0 {bottom:.2f}Z"
    )
    add_element(group, "path", d=path, **_paint(style))
    write_name(group, shape, 6, bottom - 6)


def draw_service(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    """Draw a frame around what a service offers."""
    bounds = shape.bounds
    box = add_element(group, "rect", x=0, y=0, width=bounds.width, height=bounds.height, rx=16, **_paint(style))
    box.set("fill-opacity", "0.4")
    write_name(group, shape, 6, min(bounds.height, 34))


def _paint(style: ShapeStyle) -> dict[str, str | float]:
    return {"fill": style.fill, "stroke": style.stroke, "stroke_width": 1.6, "stroke_linejoin": "round"}


_DRAWN: dict[str, DrawShape] = {
    "inputData": draw_input,
    "businessKnowledgeModel": draw_function,
    "knowledgeSource": draw_source,
    "decisionService": draw_service,
}
DECISION = Notation(
    find_picture,
    lambda shape: _DRAWN.get(shape.element.kind, draw_box),
    lambda shape: Layer.BEHIND if shape.element.kind == "decisionService" else Layer.NODE,
    is_labelled_beside=lambda shape: False,
)
