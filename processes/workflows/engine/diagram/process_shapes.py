"""The shapes of BPMN: each is drawn in a group whose origin is the upper left corner of its bounds."""

from lxml import etree

from processes.workflows.engine.diagram.colours import BAND, FRAME, INK, PAPER, ShapeStyle
from processes.workflows.engine.diagram.icons import (
    EVENT_ICONS,
    GATEWAY_ICONS,
    MARKER_ICONS,
    PENTAGON,
    PLUS,
    TASK_ICONS,
    Icon,
    draw_icon,
)
from processes.workflows.engine.diagram.labels import fit_text, write_block, write_upright
from processes.workflows.engine.diagram.picture import Bounds, DrawShape, Layer, Notation, Shape
from processes.workflows.engine.diagram.process_interchange import SUB_PROCESSES, find_picture
from processes.workflows.engine.diagram.svg import add_element, add_group, format_number, make_path

_THROWING = frozenset({"endEvent", "intermediateThrowEvent", "implicitThrowEvent"})
_DOUBLE = frozenset({"intermediateThrowEvent", "intermediateCatchEvent", "boundaryEvent"})


def draw_event(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    element, bounds = shape.element, shape.bounds
    x, y, radius = bounds.width / 2, bounds.height / 2, min(bounds.width, bounds.height) / 2
    is_end = element.kind == "endEvent"
    rings = (radius, radius * 0.82) if element.kind in _DOUBLE else (radius * 0.95 if is_end else radius,)
    for ring in rings:
        circle = add_element(group, "circle", cx=x, cy=y, r=ring, fill=style.fill, stroke=style.stroke)
        circle.set("stroke-width", "3.6" if is_end else "1.6")
        if not element.is_interrupting:
            circle.set("stroke-dasharray", "4 3")
    icon = EVENT_ICONS.get(element.trigger)
    if icon is not None:
        is_throwing = element.kind in _THROWING
        draw_icon(group, icon, x, y, scale=radius / 18, ink=style.stroke, is_filled=is_throwing)


def draw_activity(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    element, bounds = shape.element, shape.bounds
    is_open = element.kind in SUB_PROCESSES and shape.is_expanded
    _draw_box(group, shape, style)
    icon = TASK_ICONS.get(element.kind)
    if icon is not None:
        draw_icon(group, icon, 15, 15, scale=0.85, ink=style.stroke)
    markers = [MARKER_ICONS[name] for name in element.markers]
    if element.kind in SUB_PROCESSES and not shape.is_expanded:
        markers.insert(0, MARKER_ICONS["collapsed"])
    draw_markers(group, markers, bounds.width / 2, bounds.height - 12, style.stroke)
    top, bottom = (23 if icon else 6), bounds.height - (20 if markers else 6)
    write_name(group, shape, top, bottom, is_at_top=is_open)


def draw_gateway(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    element, bounds = shape.element, shape.bounds
    x, y = bounds.width / 2, bounds.height / 2
    corners = make_path((x, 0), (bounds.width, y), (x, bounds.height), (0, y), closed=True)
    add_element(
        group, "path", d=corners, fill=style.fill, stroke=style.stroke, stroke_width=1.6, stroke_linejoin="round"
    )
    scale = min(bounds.width, bounds.height) / 50
    if element.kind == "eventBasedGateway":
        _draw_event_choice(group, shape, style, scale)
    elif element.kind in GATEWAY_ICONS and (shape.has_marker or element.kind != "exclusiveGateway"):
        sign = add_group(group, x, y, scale * 1.15, fill="none", stroke=style.stroke)
        add_element(sign, "path", d=GATEWAY_ICONS[element.kind].body, stroke_width=2.8, stroke_linecap="round")


def _draw_event_choice(group: etree._Element, shape: Shape, style: ShapeStyle, scale: float) -> None:
    x, y = shape.bounds.width / 2, shape.bounds.height / 2
    rings = (14.0,) if shape.element.variant else (14.0, 11.5)
    for ring in rings:
        add_element(group, "circle", cx=x, cy=y, r=ring * scale, fill="none", stroke=style.stroke, stroke_width=1.2)
    icon = PLUS if shape.element.variant == "parallel" else PENTAGON
    draw_icon(group, icon, x, y, scale=scale * (0.9 if icon is PLUS else 1), ink=style.stroke)


def _draw_box(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    element, bounds = shape.element, shape.bounds
    box = add_element(group, "rect", x=0, y=0, width=bounds.width, height=bounds.height, rx=10)
    box.set("fill", style.fill)
    box.set("stroke", style.stroke)
    box.set("stroke-width", "3.6" if element.kind == "callActivity" else "1.6")
    if element.kind in SUB_PROCESSES and shape.is_expanded:
        # A large area in a full tint would outshout what is in it.
        box.set("fill-opacity", "0.4")
    if element.is_event_triggered:
        box.set("stroke-dasharray", "1 4")
        box.set("stroke-linecap", "round")
    if element.kind == "transaction" and min(bounds.width, bounds.height) > 8:
        inner = add_element(group, "rect", x=3, y=3, width=bounds.width - 6, height=bounds.height - 6, rx=7)
        inner.set("fill", "none")
        inner.set("stroke", style.stroke)


def draw_markers(group: etree._Element, markers: list[Icon], x: float, y: float, ink: str) -> None:
    left = x - (len(markers) - 1) * 10
    for number, icon in enumerate(markers):
        draw_icon(group, icon, left + number * 20, y, scale=0.8, ink=ink)


def write_name(
    group: etree._Element, shape: Shape, top: float, bottom: float, *, is_at_top: bool = False, aside: float = 6
) -> None:
    """Write the name of a shape in its middle, moved between icon and markers where it would touch them."""
    bounds = shape.bounds
    block = fit_text(shape.element.name, bounds.width - 2 * aside, max(bottom - top, 1))
    middle = (bounds.height - block.height) / 2
    y = 8 if is_at_top else max(top, min(middle, bottom - block.height))
    write_block(group, block, bounds.width / 2, y)


_BAND = 30.0


def draw_pool(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    """Draw a pool with its name in a band, or in the middle if its inside is not shown."""
    bounds = shape.bounds
    add_element(group, "rect", x=0, y=0, width=bounds.width, height=bounds.height, fill=PAPER, stroke=FRAME)
    if shape.is_expanded:
        _draw_band(group, shape, BAND)
    else:
        block = fit_text(shape.element.name, bounds.width - 12, bounds.height - 8)
        write_block(group, block, bounds.width / 2, (bounds.height - block.height) / 2)
    if "parallel" in shape.element.markers:
        draw_icon(group, MARKER_ICONS["parallel"], bounds.width / 2, bounds.height - 10, scale=0.8, ink=INK)


def draw_lane(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    add_element(
        group, "rect", x=0, y=0, width=shape.bounds.width, height=shape.bounds.height, fill="none", stroke=FRAME
    )
    _draw_band(group, shape, "none")


def draw_data(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    """Draw a sheet with a folded corner."""
    width, height = shape.bounds.width, shape.bounds.height
    fold = min(12.0, width / 3, height / 3)
    sheet = make_path((0, 0), (width - fold, 0), (width, fold), (width, height), (0, height), closed=True)
    crease = make_path((width - fold, 0), (width - fold, fold), (width, fold))
    for path, fill in ((sheet, PAPER), (crease, "none")):
        add_element(group, "path", d=path, fill=fill, stroke=INK, stroke_width=1.4, stroke_linejoin="round")


def draw_store(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    """Draw a drum."""
    width, height = shape.bounds.width, shape.bounds.height
    lid = min(8.0, height / 4)
    side, turn, across, down = map(format_number, (lid, width / 2, width, height - lid))
    around = f"M0 {side}V{down}A{turn} {side} 0 0 0 {across} {down}V{side}"
    add_element(group, "path", d=around, fill=PAPER, stroke=INK, stroke_width=1.4)
    add_element(group, "ellipse", cx=width / 2, cy=lid, rx=width / 2, ry=lid, fill=PAPER, stroke=INK, stroke_width=1.4)


def draw_annotation(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    width, height = shape.bounds.width, shape.bounds.height
    reach = min(10.0, width)
    bracket = make_path((reach, 0), (0, 0), (0, height), (reach, height))
    add_element(group, "path", d=bracket, fill="none", stroke=FRAME, stroke_width=1.4)
    block = fit_text(shape.element.name, max(width - 12, 20), height, sizes=(11, 10))
    write_block(group, block, 7, max((height - block.height) / 2, 0), anchor="start")


def draw_group(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    box = add_element(group, "rect", x=0, y=0, width=shape.bounds.width, height=shape.bounds.height, rx=10, fill="none")
    box.set("stroke", FRAME)
    box.set("stroke-width", "1.4")
    box.set("stroke-dasharray", "9 4 1.5 4")
    write_block(group, fit_text(shape.element.name, shape.bounds.width - 16, 40, sizes=(11,)), 10, 6, anchor="start")


def _draw_band(group: etree._Element, shape: Shape, fill: str) -> None:
    width, height = shape.bounds.width, shape.bounds.height
    if shape.is_horizontal:
        width = min(_BAND, width)
    else:
        height = min(_BAND, height)
    add_element(group, "rect", x=0, y=0, width=width, height=height, fill=fill, stroke=FRAME)
    if shape.is_horizontal:
        write_upright(group, shape.element.name, Bounds(0, 0, width, height))
    else:
        block = fit_text(shape.element.name, width - 12, height - 4)
        write_block(group, block, width / 2, (height - block.height) / 2)


_DRAWN: dict[str, DrawShape] = {
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


def _find_draw(shape: Shape) -> DrawShape:
    kind = shape.element.kind
    if kind.endswith("Event"):
        return draw_event
    if kind.endswith("Gateway"):
        return draw_gateway
    # Whatever else has bounds is shown as a box with its name.
    return _DRAWN.get(kind, draw_activity)


def _find_layer(shape: Shape) -> Layer:
    kind = shape.element.kind
    if kind in ("participant", "lane", "group") or (kind in SUB_PROCESSES and shape.is_expanded):
        return Layer.BEHIND
    return Layer.BORDER if kind == "boundaryEvent" else Layer.NODE


PROCESS = Notation(
    find_picture,
    _find_draw,
    _find_layer,
    is_labelled_beside=lambda shape: (
        shape.element.kind not in _LABELLED_INSIDE and _find_draw(shape) is not draw_activity
    ),
)
