"""Draws a picture: what surrounds first, then flows, then nodes, then text and marks on top."""

from lxml import etree

from processes.workflows.engine.diagram import case_interchange, process_interchange
from processes.workflows.engine.diagram.case_shapes import CASE
from processes.workflows.engine.diagram.colours import PAPER, PAPER_EDGE
from processes.workflows.engine.diagram.edges import draw_edge
from processes.workflows.engine.diagram.interchange import parse_with_drawing
from processes.workflows.engine.diagram.labels import (
    TextBlock,
    place_edge_label,
    place_shape_label,
    write_label,
)
from processes.workflows.engine.diagram.marks import MarkLabels, Marks, ShapeMarks, assign_marks, draw_badges
from processes.workflows.engine.diagram.picture import (
    Bounds,
    DrawShape,
    Layer,
    Notation,
    Picture,
    Shape,
    find_extent,
)
from processes.workflows.engine.diagram.process_shapes import PROCESS
from processes.workflows.engine.diagram.svg import SVG, add_element, add_group, add_text, format_number

_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"

_NOTATIONS = {process_interchange.MODEL: PROCESS, case_interchange.MODEL: CASE}
"""By the namespace of the file."""


def draw_diagram(source: bytes, marks: Marks | None = None, words: MarkLabels | None = None) -> bytes | None:
    """Draw a definition's file as SVG; None when it has no diagram interchange, or one that is beyond the limits.

    Raises NotExecutable when the file is not XML that may be read.
    """
    root = parse_with_drawing(source)
    notation = _NOTATIONS.get(root.space)
    picture = None if notation is None else notation.find_picture(root)
    if notation is None or picture is None:
        return None
    return _draw_picture(picture, notation, marks or Marks(), words or MarkLabels())


def _draw_picture(picture: Picture, notation: Notation, marks: Marks, words: MarkLabels) -> bytes:
    standing = assign_marks(marks, picture.shown_by)
    labels = _place_labels(picture, notation)
    svg = _begin_svg(picture, find_extent(picture, [bounds for _, bounds in labels]), standing, words)
    _draw_shapes(svg, picture, notation, standing, words)
    for block, bounds in labels:
        write_label(svg, block, bounds)
    _draw_marks(svg, picture, standing, words)
    drawn: bytes = etree.tostring(svg, xml_declaration=True, encoding="utf-8")
    return drawn


def _place_labels(picture: Picture, notation: Notation) -> list[tuple[TextBlock, Bounds]]:
    edges = [place_edge_label(edge) for edge in picture.edges if edge.element.name]
    shapes = [shape for shape in picture.shapes if shape.element.name and notation.is_labelled_beside(shape)]
    return edges + [place_shape_label(shape) for shape in shapes]


def _begin_svg(picture: Picture, extent: Bounds, standing: ShapeMarks, words: MarkLabels) -> etree._Element:
    """Begin the drawing: its size, its words for those who do not see it, and the paper."""
    svg = etree.Element(f"{{{SVG}}}svg", nsmap={None: SVG})
    box = " ".join(map(format_number, (extent.x, extent.y, extent.width, extent.height)))
    size = {"width": format_number(extent.width), "height": format_number(extent.height)}
    for name, value in {**size, "viewBox": box, "role": "img", "font-family": _FONTS}.items():
        svg.set(name, value)
    add_text(svg, "title", picture.title)
    add_text(svg, "desc", _describe(picture, standing, words))
    paper = add_element(
        svg, "rect", x=extent.x + 0.5, y=extent.y + 0.5, width=extent.width - 1, height=extent.height - 1
    )
    for name, value in {"rx": "12", "fill": PAPER, "stroke": PAPER_EDGE}.items():
        paper.set(name, value)
    return svg


def _describe(picture: Picture, standing: ShapeMarks, words: MarkLabels) -> str:
    """Tell what the marks show, a line an element."""
    marked = [(shape.element, standing.describe(shape.element.id, words)) for shape in picture.shapes]
    return "\n".join(f"{element.name or element.id[:200]}: {text}" for element, text in marked if text)


def _draw_shapes(
    svg: etree._Element, picture: Picture, notation: Notation, standing: ShapeMarks, words: MarkLabels
) -> None:
    layers: dict[Layer, list[Shape]] = {layer: [] for layer in Layer}
    for shape in picture.shapes:
        layers[notation.find_layer(shape)].append(shape)
    # The larger one is the outer one.
    for shape in sorted(layers[Layer.BEHIND], key=lambda shape: -shape.bounds.area):
        _draw_shape(svg, shape, notation.find_draw(shape), standing, words)
    for edge in picture.edges:
        draw_edge(add_element(svg, "g", data_element=edge.element.id[:200]), edge)
    for shape in (*layers[Layer.NODE], *layers[Layer.BORDER]):
        _draw_shape(svg, shape, notation.find_draw(shape), standing, words)


def _draw_shape(svg: etree._Element, shape: Shape, draw_it: DrawShape, standing: ShapeMarks, words: MarkLabels) -> None:
    element = shape.element
    group = add_group(svg, shape.bounds.x, shape.bounds.y, data_element=element.id[:200])
    said = [element.name, standing.describe(element.id, words)]
    if any(said):
        add_text(group, "title", " – ".join(filter(None, said)))
    draw_it(group, shape, standing.get_look(element.id))


def _draw_marks(svg: etree._Element, picture: Picture, standing: ShapeMarks, words: MarkLabels) -> None:
    for shape in picture.shapes:
        key = shape.element.id
        if standing.has_badges(key):
            draw_badges(add_element(svg, "g", data_marks=key[:200]), shape.bounds, key, standing, words)
