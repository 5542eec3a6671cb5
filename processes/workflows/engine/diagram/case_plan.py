"""The case plan model: a folder, its name on the tab."""

from lxml import etree

from processes.workflows.engine.diagram.canvas import add, polyline
from processes.workflows.engine.diagram.case_icons import DECORATORS
from processes.workflows.engine.diagram.colours import ShapeStyle
from processes.workflows.engine.diagram.labels import write_block
from processes.workflows.engine.diagram.nodes import draw_markers
from processes.workflows.engine.diagram.picture import Shape
from processes.workflows.engine.diagram.wording import fit

TAB = 22.0
"""How high the tab is; it stands on the bounds."""


def draw_case_plan(group: etree._Element, shape: Shape, look: ShapeStyle) -> None:
    bounds = shape.bounds
    _draw_tab(group, shape, look)
    box = add(group, "rect", x=0, y=0, width=bounds.width, height=bounds.height, fill=look.fill, stroke=look.stroke)
    box.set("stroke-width", "1.8")
    # A large area in a full tint would outshout what is in it.
    box.set("fill-opacity", "0.4")
    markers = [DECORATORS[name] for name in shape.element.markers]
    draw_markers(group, markers, bounds.width / 2, bounds.height - 12, look.stroke)


def _draw_tab(group: etree._Element, shape: Shape, look: ShapeStyle) -> None:
    left, slope = min(18.0, shape.bounds.width / 4), min(9.0, shape.bounds.width / 8)
    room = max(shape.bounds.width - 2 * (left + slope), 0)
    block = fit(shape.element.name, max(room, 20), TAB - 4, sizes=(12, 11))
    wide = min(max(block.width + 4, 60), room)
    corners = ((left, 0), (left + slope, -TAB), (left + slope + wide, -TAB), (left + 2 * slope + wide, 0))
    tab = add(group, "path", d=polyline(*corners, closed=True), fill=look.fill, stroke=look.stroke)
    for name, value in {"stroke-width": "1.8", "stroke-linejoin": "round"}.items():
        tab.set(name, value)
    write_block(group, block, left + slope + wide / 2, -(TAB + block.height) / 2)
