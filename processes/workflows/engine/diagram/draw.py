"""Draw a diagram: surrounding shapes first, then edges, then nodes, then labels and marks on top."""

from lxml import etree

from processes.workflows.engine.diagram import case_interchange, process_interchange
from processes.workflows.engine.diagram.case_shapes import CASE
from processes.workflows.engine.diagram.colours import PAPER, PAPER_EDGE
from processes.workflows.engine.diagram.decision_shapes import DECISION
from processes.workflows.engine.diagram.edges import draw_edge
from processes.workflows.engine.diagram.heat import draw_heat, place_heat
from processes.workflows.engine.diagram.interchange import parse_with_drawing
from processes.workflows.engine.diagram.labels import place_edge_label, place_shape_label, write_label
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
from processes.workflows.engine.dmn.parser import DMN

_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'DejaVu Sans', sans-serif"

_NOTATIONS = {process_interchange.MODEL: PROCESS, case_interchange.MODEL: CASE, **dict.fromkeys(DMN, DECISION)}
"""By the namespace of the file."""


def draw_diagram(source: bytes, marks: Marks | None = None, mark_labels: MarkLabels | None = None) -> bytes | None:
    """Draw a definition's file as SVG; None when it has no diagram interchange, or one that is beyond the limits.

    Raises InvalidDefinition if the file is not XML within the bounds.
    """
    root = parse_with_drawing(source)
    notation = _NOTATIONS.get(root.space)
    picture = None if notation is None else notation.find_picture(root)
    if notation is None or picture is None:
        return None
    return _draw_picture(picture, notation, marks or Marks(), mark_labels or MarkLabels())


def _draw_picture(picture: Picture, notation: Notation, marks: Marks, mark_labels: MarkLabels) -> bytes:
    shape_marks = assign_marks(marks, picture.shown_by)
    beside = [shape for shape in picture.shapes if shape.element.name and notation.is_labelled_beside(shape)]
    labels = [place_edge_label(edge) for edge in picture.edges if edge.element.name]
    labels += [place_shape_label(shape) for shape in beside]
    heat = [
        (mark, place_heat(mark, shape.bounds, shape.label))
        for shape in picture.shapes
        if (mark := shape_marks.heat.get(shape.element.id)) is not None
    ]
    around = [bounds for _, bounds in (*labels, *heat)]
    svg = _begin_svg(picture, find_extent(picture, around), shape_marks, mark_labels)
    _draw_shapes(svg, picture, notation, shape_marks, mark_labels)
    for block, bounds in labels:
        write_label(svg, block, bounds)
    _draw_marks(svg, picture, shape_marks, mark_labels)
    for mark, area in heat:
        draw_heat(svg, mark, area)
    drawn: bytes = etree.tostring(svg, xml_declaration=True, encoding="utf-8")
    return drawn


def _begin_svg(picture: Picture, extent: Bounds, shape_marks: ShapeMarks, mark_labels: MarkLabels) -> etree._Element:
    """Create the SVG with its size, its title and description for screen readers, and the background."""
    svg = etree.Element(f"{{{SVG}}}svg", nsmap={None: SVG})
    box = " ".join(map(format_number, (extent.x, extent.y, extent.width, extent.height)))
    size = {"width": format_number(extent.width), "height": format_number(extent.height)}
    for name, value in {**size, "viewBox": box, "role": "img", "font-family": _FONTS}.items():
        svg.set(name, value)
    add_text(svg, "title", picture.title)
    marked = [(shape.element, shape_marks.describe(shape.element.id, mark_labels)) for shape in picture.shapes]
    lines = [f"{element.name or element.id[:200]}: {text}" for element, text in marked if text]
    add_text(svg, "desc", "\n".join(lines))
    paper = add_element(
        svg, "rect", x=extent.x + 0.5, y=extent.y + 0.5, width=extent.width - 1, height=extent.height - 1
    )
    for name, value in {"rx": "12", "fill": PAPER, "stroke": PAPER_EDGE}.items():
        paper.set(name, value)
    return svg


def _draw_shapes(
    svg: etree._Element, picture: Picture, notation: Notation, shape_marks: ShapeMarks, mark_labels: MarkLabels
) -> None:
    layers: dict[Layer, list[Shape]] = {layer: [] for layer in Layer}
    for shape in picture.shapes:
        layers[notation.find_layer(shape)].append(shape)
    # Outer shapes first: they would cover the inner ones.
    for shape in sorted(layers[Layer.BEHIND], key=lambda shape: -shape.bounds.area):
        _draw_shape(svg, shape, notation.find_draw(shape), shape_marks, mark_labels)
    for edge in picture.edges:
        draw_edge(add_element(svg, "g", data_element=edge.element.id[:200]), edge)
    for shape in (*layers[Layer.NODE], *layers[Layer.BORDER]):
        _draw_shape(svg, shape, notation.find_draw(shape), shape_marks, mark_labels)


def _draw_shape(
    svg: etree._Element, shape: Shape, draw: DrawShape, shape_marks: ShapeMarks, mark_labels: MarkLabels
) -> None:
    element = shape.element
    group = add_group(svg, shape.bounds.x, shape.bounds.y, data_element=element.id[:200])
    parts = [element.name, shape_marks.describe(element.id, mark_labels)]
    if any(parts):
        add_text(group, "title", " – ".join(filter(None, parts)))
    draw(group, shape, shape_marks.get_style(element.id))


def _draw_marks(svg: etree._Element, picture: Picture, shape_marks: ShapeMarks, mark_labels: MarkLabels) -> None:
    for shape in picture.shapes:
        key = shape.element.id
        if shape_marks.has_badges(key):
            draw_badges(add_element(svg, "g", data_marks=key[:200]), shape.bounds, key, shape_marks, mark_labels)
