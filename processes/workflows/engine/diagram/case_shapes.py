"""The shapes of CMMN: plan items with their rules as decorators, criteria on their borders, the case plan model."""

from lxml import etree

from processes.workflows.engine.diagram.case_interchange import CRITERIA, TAB_HEIGHT, find_picture
from processes.workflows.engine.diagram.colours import INK, PAPER, ShapeStyle
from processes.workflows.engine.diagram.icons import (
    DECORATOR_ICONS,
    ITEM_ICONS,
    LISTENER_ICONS,
    MARKER_ICONS,
    Icon,
    draw_icon,
)
from processes.workflows.engine.diagram.labels import fit_text, write_block
from processes.workflows.engine.diagram.picture import DrawShape, Layer, Notation, Shape
from processes.workflows.engine.diagram.process_shapes import draw_annotation, draw_data, draw_markers, write_name
from processes.workflows.engine.diagram.svg import add_element, make_path

_CLIP = 16.0
_ASIDE = 12.0
"""Kept free at the sides, into which criteria reach."""


def draw_item(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    """Draw a task: a box with its icon."""
    add_element(group, "rect", x=0, y=0, width=shape.bounds.width, height=shape.bounds.height, rx=10, **_paint(style))
    icon = ITEM_ICONS.get(shape.element.kind)
    if icon is not None:
        draw_icon(group, icon, 15, 15, scale=0.85, ink=style.stroke)
    _draw_inside(group, shape, style, top=23 if icon else 6)


def draw_stage(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    """Draw a box with clipped corners; an expanded stage has its name in a corner."""
    width, height = shape.bounds.width, shape.bounds.height
    clip = min(_CLIP, width / 4, height / 4)
    right, bottom = width - clip, height - clip
    upper = ((clip, 0), (right, 0), (width, clip), (width, bottom))
    lower = ((right, height), (clip, height), (0, bottom), (0, clip))
    box = add_element(group, "path", d=make_path(*upper, *lower, closed=True), **_paint(style))
    if not shape.is_expanded:
        _draw_inside(group, shape, style, top=6)
        return
    # A large area in a full tint would outshout what is in it.
    box.set("fill-opacity", "0.4")
    draw_markers(group, _find_markers(shape), width / 2, height - 12, style.stroke)
    block = fit_text(shape.element.name, max(width - 2 * _CLIP - 8, 20), 34)
    write_block(group, block, min(_CLIP + 4, width / 2), 8, anchor="start")


def draw_milestone(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    """Draw a box with round ends."""
    width, height = shape.bounds.width, shape.bounds.height
    add_element(group, "rect", x=0, y=0, width=width, height=height, rx=min(width, height) / 2, **_paint(style))
    _draw_inside(group, shape, style, top=4)


def draw_listener(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    """Draw two rings around the icon of what is listened to."""
    x, y = shape.bounds.width / 2, shape.bounds.height / 2
    radius = min(x, y)
    for ring in (radius, radius * 0.82):
        add_element(group, "circle", cx=x, cy=y, r=ring, **_paint(style))
    icon = LISTENER_ICONS.get(shape.element.kind)
    if icon is not None:
        draw_icon(group, icon, x, y, scale=radius / 18, ink=style.stroke)


def _draw_inside(group: etree._Element, shape: Shape, style: ShapeStyle, *, top: float) -> None:
    bounds, markers = shape.bounds, _find_markers(shape)
    draw_markers(group, markers, bounds.width / 2, bounds.height - 12, style.stroke)
    write_name(group, shape, top, bounds.height - (20 if markers else 6), aside=_ASIDE)


def _find_markers(shape: Shape) -> list[Icon]:
    rules = [DECORATOR_ICONS[name] for name in shape.element.markers]
    is_closed = shape.element.kind == "stage" and not shape.is_expanded
    return [MARKER_ICONS["collapsed"], *rules] if is_closed else rules


def _paint(style: ShapeStyle) -> dict[str, str | float]:
    return {"fill": style.fill, "stroke": style.stroke, "stroke_width": 1.6, "stroke_linejoin": "round"}


def draw_case_plan(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    """Draw a folder with the name on its tab."""
    bounds = shape.bounds
    _draw_tab(group, shape, style)
    box = add_element(
        group, "rect", x=0, y=0, width=bounds.width, height=bounds.height, fill=style.fill, stroke=style.stroke
    )
    box.set("stroke-width", "1.8")
    # A large area in a full tint would outshout what is in it.
    box.set("fill-opacity", "0.4")
    markers = [DECORATOR_ICONS[name] for name in shape.element.markers]
    draw_markers(group, markers, bounds.width / 2, bounds.height - 12, style.stroke)


def _draw_tab(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    left, slope = min(18.0, shape.bounds.width / 4), min(9.0, shape.bounds.width / 8)
    room = max(shape.bounds.width - 2 * (left + slope), 0)
    block = fit_text(shape.element.name, max(room, 20), TAB_HEIGHT - 4, sizes=(12, 11))
    wide = min(max(block.width + 4, 60), room)
    corners = ((left, 0), (left + slope, -TAB_HEIGHT), (left + slope + wide, -TAB_HEIGHT), (left + 2 * slope + wide, 0))
    tab = add_element(group, "path", d=make_path(*corners, closed=True), fill=style.fill, stroke=style.stroke)
    for name, value in {"stroke-width": "1.8", "stroke-linejoin": "round"}.items():
        tab.set(name, value)
    write_block(group, block, left + slope + wide / 2, -(TAB_HEIGHT + block.height) / 2)


def draw_criterion(group: etree._Element, shape: Shape, style: ShapeStyle) -> None:
    """Draw a diamond: white for entry, black for exit."""
    width, height = shape.bounds.width, shape.bounds.height
    corners = make_path((width / 2, 0), (width, height / 2), (width / 2, height), (0, height / 2), closed=True)
    fill = INK if shape.element.kind == "exitCriterion" else PAPER
    add_element(group, "path", d=corners, fill=fill, stroke=INK, stroke_width=1.6, stroke_linejoin="round")


_DRAWN: dict[str, DrawShape] = {
    "casePlanModel": draw_case_plan,
    "stage": draw_stage,
    "milestone": draw_milestone,
    "eventListener": draw_listener,
    "timerEventListener": draw_listener,
    "userEventListener": draw_listener,
    "caseFileItem": draw_data,
    "textAnnotation": draw_annotation,
    **dict.fromkeys(CRITERIA, draw_criterion),
}
_LABELLED_BESIDE = (draw_listener, draw_criterion, draw_data)


def _find_draw(shape: Shape) -> DrawShape:
    # Whatever else has bounds is shown as a box with its name.
    return _DRAWN.get(shape.element.kind, draw_item)


def _find_layer(shape: Shape) -> Layer:
    kind = shape.element.kind
    if kind == "casePlanModel" or (kind == "stage" and shape.is_expanded):
        return Layer.BEHIND
    return Layer.BORDER if kind in CRITERIA else Layer.NODE


CASE = Notation(
    find_picture,
    _find_draw,
    _find_layer,
    is_labelled_beside=lambda shape: _find_draw(shape) in _LABELLED_BESIDE,
)
