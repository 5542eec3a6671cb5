"""Plan items: tasks, stages, milestones and listeners, with the rules that they follow as decorators."""

from lxml import etree

from processes.workflows.engine.diagram.canvas import add, polyline
from processes.workflows.engine.diagram.case_icons import DECORATORS, ITEMS, LISTENERS
from processes.workflows.engine.diagram.colours import ShapeStyle
from processes.workflows.engine.diagram.icons import MARKERS, Icon, draw_icon
from processes.workflows.engine.diagram.labels import write_block
from processes.workflows.engine.diagram.nodes import draw_markers, write_name
from processes.workflows.engine.diagram.picture import Shape
from processes.workflows.engine.diagram.wording import fit

_CLIP = 16.0
_ASIDE = 12.0
"""Kept free at the sides, into which criteria reach."""


def draw_item(group: etree._Element, shape: Shape, look: ShapeStyle) -> None:
    """Draw a task: a box with its icon."""
    add(group, "rect", x=0, y=0, width=shape.bounds.width, height=shape.bounds.height, rx=10, **_paint(look))
    icon = ITEMS.get(shape.element.kind)
    if icon is not None:
        draw_icon(group, icon, 15, 15, scale=0.85, ink=look.stroke)
    _draw_inside(group, shape, look, top=23 if icon else 6)


def draw_stage(group: etree._Element, shape: Shape, look: ShapeStyle) -> None:
    """Draw a box whose corners are clipped; one that shows its inside has its name in a corner."""
    width, height = shape.bounds.width, shape.bounds.height
    box = add(group, "path", d=_clip(width, height, min(_CLIP, width / 4, height / 4)), **_paint(look))
    if not shape.is_expanded:
        _draw_inside(group, shape, look, top=6)
        return
    # A large area in a full tint would outshout what is in it.
    box.set("fill-opacity", "0.4")
    draw_markers(group, _find_markers(shape), width / 2, height - 12, look.stroke)
    block = fit(shape.element.name, max(width - 2 * _CLIP - 8, 20), 34)
    write_block(group, block, min(_CLIP + 4, width / 2), 8, anchor="start")


def draw_milestone(group: etree._Element, shape: Shape, look: ShapeStyle) -> None:
    """Draw a box with round ends."""
    width, height = shape.bounds.width, shape.bounds.height
    add(group, "rect", x=0, y=0, width=width, height=height, rx=min(width, height) / 2, **_paint(look))
    _draw_inside(group, shape, look, top=4)


def draw_listener(group: etree._Element, shape: Shape, look: ShapeStyle) -> None:
    """Draw two rings around the icon of what is listened to."""
    x, y = shape.bounds.width / 2, shape.bounds.height / 2
    radius = min(x, y)
    for ring in (radius, radius * 0.82):
        add(group, "circle", cx=x, cy=y, r=ring, **_paint(look))
    icon = LISTENERS.get(shape.element.kind)
    if icon is not None:
        draw_icon(group, icon, x, y, scale=radius / 18, ink=look.stroke)


def _draw_inside(group: etree._Element, shape: Shape, look: ShapeStyle, *, top: float) -> None:
    bounds, markers = shape.bounds, _find_markers(shape)
    draw_markers(group, markers, bounds.width / 2, bounds.height - 12, look.stroke)
    write_name(group, shape, top, bounds.height - (20 if markers else 6), aside=_ASIDE)


def _find_markers(shape: Shape) -> list[Icon]:
    rules = [DECORATORS[name] for name in shape.element.markers]
    is_closed = shape.element.kind == "stage" and not shape.is_expanded
    return [MARKERS["collapsed"], *rules] if is_closed else rules


def _clip(width: float, height: float, clip: float) -> str:
    right, bottom = width - clip, height - clip
    corners = ((clip, 0), (right, 0), (width, clip), (width, bottom), (right, height), (clip, height), (0, bottom))
    return polyline(*corners, (0, clip), closed=True)


def _paint(look: ShapeStyle) -> dict[str, str | float]:
    return {"fill": look.fill, "stroke": look.stroke, "stroke_width": 1.6, "stroke_linejoin": "round"}
