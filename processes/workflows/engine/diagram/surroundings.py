"""What surrounds the nodes: pools and lanes, data, annotations and groups. Origin as of the nodes."""

from lxml import etree

from processes.workflows.engine.diagram.canvas import add, polyline
from processes.workflows.engine.diagram.colours import BAND, FRAME, INK, PAPER, ShapeStyle
from processes.workflows.engine.diagram.icons import MARKERS, draw_icon
from processes.workflows.engine.diagram.labels import write_block, write_upright
from processes.workflows.engine.diagram.numbers import write_number
from processes.workflows.engine.diagram.picture import Bounds, Shape
from processes.workflows.engine.diagram.wording import fit

_BAND = 30.0


def draw_pool(group: etree._Element, shape: Shape, look: ShapeStyle) -> None:
    """Draw a pool with a band for its name; one that shows nothing of its inside has its name in the middle."""
    bounds = shape.bounds
    add(group, "rect", x=0, y=0, width=bounds.width, height=bounds.height, fill=PAPER, stroke=FRAME)
    if shape.is_expanded:
        _draw_band(group, shape, BAND)
    else:
        block = fit(shape.element.name, bounds.width - 12, bounds.height - 8)
        write_block(group, block, bounds.width / 2, (bounds.height - block.height) / 2)
    if "parallel" in shape.element.markers:
        draw_icon(group, MARKERS["parallel"], bounds.width / 2, bounds.height - 10, scale=0.8, ink=INK)


def draw_lane(group: etree._Element, shape: Shape, look: ShapeStyle) -> None:
    add(group, "rect", x=0, y=0, width=shape.bounds.width, height=shape.bounds.height, fill="none", stroke=FRAME)
    _draw_band(group, shape, "none")


def draw_data(group: etree._Element, shape: Shape, look: ShapeStyle) -> None:
    """Draw a sheet with a folded corner."""
    width, height = shape.bounds.width, shape.bounds.height
    fold = min(12.0, width / 3, height / 3)
    sheet = polyline((0, 0), (width - fold, 0), (width, fold), (width, height), (0, height), closed=True)
    crease = polyline((width - fold, 0), (width - fold, fold), (width, fold))
    for path, fill in ((sheet, PAPER), (crease, "none")):
        add(group, "path", d=path, fill=fill, stroke=INK, stroke_width=1.4, stroke_linejoin="round")


def draw_store(group: etree._Element, shape: Shape, look: ShapeStyle) -> None:
    """Draw a drum."""
    width, height = shape.bounds.width, shape.bounds.height
    lid = min(8.0, height / 4)
    side, turn, across, down = map(write_number, (lid, width / 2, width, height - lid))
    around = f"M0 {side}V{down}A{turn} {side} 0 0 0 {across} {down}V{side}"
    add(group, "path", d=around, fill=PAPER, stroke=INK, stroke_width=1.4)
    add(group, "ellipse", cx=width / 2, cy=lid, rx=width / 2, ry=lid, fill=PAPER, stroke=INK, stroke_width=1.4)


def draw_annotation(group: etree._Element, shape: Shape, look: ShapeStyle) -> None:
    width, height = shape.bounds.width, shape.bounds.height
    reach = min(10.0, width)
    bracket = polyline((reach, 0), (0, 0), (0, height), (reach, height))
    add(group, "path", d=bracket, fill="none", stroke=FRAME, stroke_width=1.4)
    block = fit(shape.element.name, max(width - 12, 20), height, sizes=(11, 10))
    write_block(group, block, 7, max((height - block.height) / 2, 0), anchor="start")


def draw_group(group: etree._Element, shape: Shape, look: ShapeStyle) -> None:
    box = add(group, "rect", x=0, y=0, width=shape.bounds.width, height=shape.bounds.height, rx=10, fill="none")
    box.set("stroke", FRAME)
    box.set("stroke-width", "1.4")
    box.set("stroke-dasharray", "9 4 1.5 4")
    write_block(group, fit(shape.element.name, shape.bounds.width - 16, 40, sizes=(11,)), 10, 6, anchor="start")


def _draw_band(group: etree._Element, shape: Shape, fill: str) -> None:
    width, height = shape.bounds.width, shape.bounds.height
    if shape.is_horizontal:
        width = min(_BAND, width)
    else:
        height = min(_BAND, height)
    add(group, "rect", x=0, y=0, width=width, height=height, fill=fill, stroke=FRAME)
    write = write_upright if shape.is_horizontal else _write_level
    write(group, shape.element.name, Bounds(0, 0, width, height))


def _write_level(group: etree._Element, name: str, band: Bounds) -> None:
    block = fit(name, band.width - 12, band.height - 4)
    write_block(group, block, band.width / 2, (band.height - block.height) / 2)
