"""Criteria on the borders of plan items: a white diamond lets in, a black one lets out."""

from lxml import etree

from processes.workflows.engine.diagram.canvas import add, polyline
from processes.workflows.engine.diagram.colours import INK, PAPER, ShapeStyle
from processes.workflows.engine.diagram.picture import Shape


def draw_criterion(group: etree._Element, shape: Shape, look: ShapeStyle) -> None:
    width, height = shape.bounds.width, shape.bounds.height
    corners = polyline((width / 2, 0), (width, height / 2), (width / 2, height), (0, height / 2), closed=True)
    fill = INK if shape.element.kind == "exitCriterion" else PAPER
    add(group, "path", d=corners, fill=fill, stroke=INK, stroke_width=1.6, stroke_linejoin="round")
