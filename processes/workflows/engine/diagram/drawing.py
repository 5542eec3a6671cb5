"""Draws a picture: what surrounds first, then flows, then nodes, then text and marks on top."""

from lxml import etree

from processes.workflows.engine.bpmn.xml import Element
from processes.workflows.engine.diagram import elements, interchange
from processes.workflows.engine.diagram.badges import Standing, draw_badges, find_standing
from processes.workflows.engine.diagram.canvas import SVG, add, add_group, add_text
from processes.workflows.engine.diagram.colours import PAPER, PAPER_EDGE
from processes.workflows.engine.diagram.extent import find_extent
from processes.workflows.engine.diagram.flows import draw_edge
from processes.workflows.engine.diagram.labels import place_edge_label, place_shape_label, write_label
from processes.workflows.engine.diagram.marks import Marks, Words
from processes.workflows.engine.diagram.nodes import Draw, draw_activity, draw_event, draw_gateway
from processes.workflows.engine.diagram.numbers import write_number
from processes.workflows.engine.diagram.picture import Bounds, Picture, Shape
from processes.workflows.engine.diagram.reading import read_whole
from processes.workflows.engine.diagram.surroundings import (
    draw_annotation,
    draw_data,
    draw_group,
    draw_lane,
    draw_pool,
    draw_store,
)
from processes.workflows.engine.diagram.wording import Block

_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"

_PICTURES = {elements.MODEL: interchange.find_picture}
"""How a picture is read, by the namespace of the file. CMMN has an interchange of its own: it belongs here."""

_DRAWN: dict[str, Draw] = {
    "participant": draw_pool,
    "lane": draw_lane,
    "dataObjectReference": draw_data,
    "dataObject": draw_data,
    "dataInput": draw_data,
    "dataOutput": draw_data,
    "dataStoreReference": draw_store,
    "textAnnotation": draw_annotation,
    "group": draw_group,
    "callActivity": draw_activity,
    "subProcess": draw_activity,
    "transaction": draw_activity,
    "adHocSubProcess": draw_activity,
}
_LABELLED_INSIDE = frozenset({"participant", "lane", "textAnnotation", "group"})
_SUB_PROCESSES = frozenset({"subProcess", "transaction", "adHocSubProcess"})


def draw(source: bytes, marks: Marks | None = None, words: Words | None = None) -> bytes | None:
    """Draw a definition's file as SVG; None when it has no diagram interchange, or one that is beyond the limits.

    Raises NotExecutable when the file is not XML that may be read.
    """
    picture = _find_picture(read_whole(source))
    if picture is None:
        return None
    standing = find_standing(marks or Marks(), picture.shown_by)
    labels = _place_labels(picture)
    extent = find_extent(picture, [bounds for _, bounds in labels])
    svg = _begin(picture, extent, standing, words or Words())
    _draw_shapes(svg, picture, standing, words or Words())
    for block, bounds in labels:
        write_label(svg, block, bounds)
    _draw_marks(svg, picture, standing)
    drawn: bytes = etree.tostring(svg, xml_declaration=True, encoding="utf-8")
    return drawn


def _find_picture(root: Element) -> Picture | None:
    find = _PICTURES.get(root.space)
    return None if find is None else find(root)


def _place_labels(picture: Picture) -> list[tuple[Block, Bounds]]:
    edges = [place_edge_label(edge) for edge in picture.edges if edge.element.name]
    shapes = [place_shape_label(shape) for shape in picture.shapes if shape.element.name and _is_labelled_beside(shape)]
    return edges + shapes


def _is_labelled_beside(shape: Shape) -> bool:
    return shape.element.kind not in _LABELLED_INSIDE and _find_draw(shape) is not draw_activity


def _begin(picture: Picture, extent: Bounds, standing: Standing, words: Words) -> etree._Element:
    """Begin the drawing: its size, its words for those who do not see it, and the paper."""
    svg = etree.Element(f"{{{SVG}}}svg", nsmap={None: SVG})
    box = " ".join(map(write_number, (extent.x, extent.y, extent.width, extent.height)))
    size = {"width": write_number(extent.width), "height": write_number(extent.height)}
    for name, value in {**size, "viewBox": box, "role": "img", "font-family": _FONTS}.items():
        svg.set(name, value)
    add_text(svg, "title", picture.title)
    add_text(svg, "desc", _describe(picture, standing, words))
    paper = add(svg, "rect", x=extent.x + 0.5, y=extent.y + 0.5, width=extent.width - 1, height=extent.height - 1)
    for name, value in {"rx": "12", "fill": PAPER, "stroke": PAPER_EDGE}.items():
        paper.set(name, value)
    return svg


def _describe(picture: Picture, standing: Standing, words: Words) -> str:
    """Tell what the marks show, a line an element."""
    marked = [(shape.element, standing.describe(shape.element.id, words)) for shape in picture.shapes]
    return "\n".join(f"{element.name or element.id[:200]}: {text}" for element, text in marked if text)


def _draw_shapes(svg: etree._Element, picture: Picture, standing: Standing, words: Words) -> None:
    behind = [shape for shape in picture.shapes if _is_behind(shape)]
    before = [shape for shape in picture.shapes if not _is_behind(shape)]
    # The larger one is the outer one.
    for shape in sorted(behind, key=lambda shape: -shape.bounds.area):
        _draw_shape(svg, shape, standing, words)
    for edge in picture.edges:
        draw_edge(add(svg, "g", data_element=edge.element.id[:200]), edge)
    for shape in sorted(before, key=lambda shape: shape.element.kind == "boundaryEvent"):
        _draw_shape(svg, shape, standing, words)


def _is_behind(shape: Shape) -> bool:
    kind = shape.element.kind
    return kind in ("participant", "lane", "group") or (kind in _SUB_PROCESSES and shape.is_expanded)


def _draw_shape(svg: etree._Element, shape: Shape, standing: Standing, words: Words) -> None:
    element = shape.element
    group = add_group(svg, shape.bounds.x, shape.bounds.y, data_element=element.id[:200])
    said = [element.name, standing.describe(element.id, words)]
    if any(said):
        add_text(group, "title", " – ".join(filter(None, said)))
    _find_draw(shape)(group, shape, standing.get_look(element.id))


def _find_draw(shape: Shape) -> Draw:
    kind = shape.element.kind
    if kind.endswith("Event"):
        return draw_event
    if kind.endswith("Gateway"):
        return draw_gateway
    # Whatever else has bounds is shown as a box with its name.
    return _DRAWN.get(kind, draw_activity)


def _draw_marks(svg: etree._Element, picture: Picture, standing: Standing) -> None:
    for shape in picture.shapes:
        key = shape.element.id
        tokens, has_incident = standing.tokens.get(key, 0), key in standing.incidents
        if tokens or has_incident:
            group = add(svg, "g", data_marks=key[:200])
            draw_badges(group, shape.bounds, tokens, has_incident=has_incident)
