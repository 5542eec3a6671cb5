"""Events, activities and gateways: each is drawn in a group whose origin is the upper left corner of its bounds."""

from lxml import etree

from processes.workflows.engine.diagram.canvas import add, add_group, polyline
from processes.workflows.engine.diagram.colours import ShapeStyle
from processes.workflows.engine.diagram.icons import EVENTS, GATEWAYS, MARKERS, PENTAGON, PLUS, TASKS, Icon, draw_icon
from processes.workflows.engine.diagram.labels import write_block
from processes.workflows.engine.diagram.picture import Shape
from processes.workflows.engine.diagram.process_elements import SUB_PROCESSES
from processes.workflows.engine.diagram.wording import fit

_THROWING = frozenset({"endEvent", "intermediateThrowEvent", "implicitThrowEvent"})
_DOUBLE = frozenset({"intermediateThrowEvent", "intermediateCatchEvent", "boundaryEvent"})


def draw_event(group: etree._Element, shape: Shape, look: ShapeStyle) -> None:
    element, bounds = shape.element, shape.bounds
    x, y, radius = bounds.width / 2, bounds.height / 2, min(bounds.width, bounds.height) / 2
    is_end = element.kind == "endEvent"
    rings = (radius, radius * 0.82) if element.kind in _DOUBLE else (radius * 0.95 if is_end else radius,)
    for ring in rings:
        circle = add(group, "circle", cx=x, cy=y, r=ring, fill=look.fill, stroke=look.stroke)
        circle.set("stroke-width", "3.6" if is_end else "1.6")
        if not element.is_interrupting:
            circle.set("stroke-dasharray", "4 3")
    icon = EVENTS.get(element.trigger)
    if icon is not None:
        is_throwing = element.kind in _THROWING
        draw_icon(group, icon, x, y, scale=radius / 18, ink=look.stroke, is_filled=is_throwing)


def draw_activity(group: etree._Element, shape: Shape, look: ShapeStyle) -> None:
    element, bounds = shape.element, shape.bounds
    is_open = element.kind in SUB_PROCESSES and shape.is_expanded
    _draw_box(group, shape, look)
    icon = TASKS.get(element.kind)
    if icon is not None:
        draw_icon(group, icon, 15, 15, scale=0.85, ink=look.stroke)
    markers = [MARKERS[name] for name in element.markers]
    if element.kind in SUB_PROCESSES and not shape.is_expanded:
        markers.insert(0, MARKERS["collapsed"])
    draw_markers(group, markers, bounds.width / 2, bounds.height - 12, look.stroke)
    top, bottom = (23 if icon else 6), bounds.height - (20 if markers else 6)
    write_name(group, shape, top, bottom, is_at_top=is_open)


def draw_gateway(group: etree._Element, shape: Shape, look: ShapeStyle) -> None:
    element, bounds = shape.element, shape.bounds
    x, y = bounds.width / 2, bounds.height / 2
    corners = polyline((x, 0), (bounds.width, y), (x, bounds.height), (0, y), closed=True)
    add(group, "path", d=corners, fill=look.fill, stroke=look.stroke, stroke_width=1.6, stroke_linejoin="round")
    scale = min(bounds.width, bounds.height) / 50
    if element.kind == "eventBasedGateway":
        _draw_event_choice(group, shape, look, scale)
    elif element.kind in GATEWAYS and (shape.has_marker or element.kind != "exclusiveGateway"):
        sign = add_group(group, x, y, scale * 1.15, fill="none", stroke=look.stroke)
        add(sign, "path", d=GATEWAYS[element.kind].body, stroke_width=2.8, stroke_linecap="round")


def _draw_event_choice(group: etree._Element, shape: Shape, look: ShapeStyle, scale: float) -> None:
    x, y = shape.bounds.width / 2, shape.bounds.height / 2
    rings = (14.0,) if shape.element.variant else (14.0, 11.5)
    for ring in rings:
        add(group, "circle", cx=x, cy=y, r=ring * scale, fill="none", stroke=look.stroke, stroke_width=1.2)
    icon = PLUS if shape.element.variant == "parallel" else PENTAGON
    draw_icon(group, icon, x, y, scale=scale * (0.9 if icon is PLUS else 1), ink=look.stroke)


def _draw_box(group: etree._Element, shape: Shape, look: ShapeStyle) -> None:
    element, bounds = shape.element, shape.bounds
    box = add(group, "rect", x=0, y=0, width=bounds.width, height=bounds.height, rx=10)
    box.set("fill", look.fill)
    box.set("stroke", look.stroke)
    box.set("stroke-width", "3.6" if element.kind == "callActivity" else "1.6")
    if element.kind in SUB_PROCESSES and shape.is_expanded:
        # A large area in a full tint would outshout what is in it.
        box.set("fill-opacity", "0.4")
    if element.is_event_triggered:
        box.set("stroke-dasharray", "1 4")
        box.set("stroke-linecap", "round")
    if element.kind == "transaction" and min(bounds.width, bounds.height) > 8:
        inner = add(group, "rect", x=3, y=3, width=bounds.width - 6, height=bounds.height - 6, rx=7)
        inner.set("fill", "none")
        inner.set("stroke", look.stroke)


def draw_markers(group: etree._Element, markers: list[Icon], x: float, y: float, ink: str) -> None:
    left = x - (len(markers) - 1) * 10
    for number, icon in enumerate(markers):
        draw_icon(group, icon, left + number * 20, y, scale=0.8, ink=ink)


def write_name(
    group: etree._Element, shape: Shape, top: float, bottom: float, *, is_at_top: bool = False, aside: float = 6
) -> None:
    """Write the name in the middle; where that would touch the icon or the markers, between them."""
    bounds = shape.bounds
    block = fit(shape.element.name, bounds.width - 2 * aside, max(bottom - top, 1))
    middle = (bounds.height - block.height) / 2
    y = 8 if is_at_top else max(top, min(middle, bottom - block.height))
    write_block(group, block, bounds.width / 2, y)
