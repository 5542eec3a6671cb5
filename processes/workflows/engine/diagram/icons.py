"""Icons as paths. Each is drawn in a square from -10 to 10 and scaled to its place."""

import math
from dataclasses import dataclass

from lxml import etree

from processes.workflows.engine.diagram.colours import PAPER
from processes.workflows.engine.diagram.svg import add_element, add_group, make_path


@dataclass(frozen=True, slots=True)
class Icon:
    body: str
    """The path that is filled for throwing events and outlined for catching ones."""
    details: str = ""
    """Lines on the body."""
    is_solid: bool = False
    """Filled in any case."""
    is_open: bool = False
    """Lines alone, never filled."""


def draw_icon(
    parent: etree._Element, icon: Icon, x: float, y: float, *, scale: float, ink: str, is_filled: bool = False
) -> None:
    group = add_group(parent, x, y, scale, fill="none", stroke=ink, stroke_linejoin="round", stroke_linecap="round")
    width = 1.5 if scale >= 0.7 else 1.2 / scale
    is_full = icon.is_solid or (is_filled and not icon.is_open)
    fill = "none" if icon.is_open else ink if is_full else PAPER
    add_element(group, "path", d=icon.body, fill=fill, stroke_width=width)
    if icon.details:
        add_element(group, "path", d=icon.details, stroke=PAPER if is_full else ink, stroke_width=width)


def circle_path(radius: float, x: float = 0, y: float = 0) -> str:
    return f"M{x - radius} {y}a{radius} {radius} 0 1 0 {2 * radius} 0a{radius} {radius} 0 1 0 {-2 * radius} 0Z"


def _polygon(corners: int, radius: float, start: float = -90) -> list[tuple[float, float]]:
    angles = [math.radians(start + 360 * number / corners) for number in range(corners)]
    return [(radius * math.cos(angle), radius * math.sin(angle)) for angle in angles]


def _gear_path(teeth: int, outer: float, inner: float) -> str:
    """Draw a toothed wheel: four corners a tooth, narrower outside than inside."""
    step = 360 / teeth
    corners: list[tuple[float, float]] = []
    for number in range(teeth):
        for offset, radius in ((-0.28, inner), (-0.17, outer), (0.17, outer), (0.28, inner)):
            angle = math.radians((number + offset) * step)
            corners.append((radius * math.cos(angle), radius * math.sin(angle)))
    return make_path(*corners, closed=True)


_ENVELOPE = Icon("M-8.5 -6H8.5V6H-8.5Z", "M-8.5 -6L0 1L8.5 -6")
_HOURS = "".join(make_path(*ends) for ends in zip(_polygon(12, 9), _polygon(12, 7.4), strict=True))
_PENTAGON = make_path(*_polygon(5, 9), closed=True)

EVENT_ICONS = {
    "message": _ENVELOPE,
    "timer": Icon(circle_path(9), f"{_HOURS}M0.8 -4.8L0 0L3.6 1.6"),
    "signal": Icon("M0 -8.5L8.4 6H-8.4Z"),
    "condition": Icon("M-6 -8H6V8H-6Z", "M-3.6 -4.6H3.6M-3.6 -1.5H3.6M-3.6 1.6H3.6M-3.6 4.7H3.6"),
    "error": Icon("M-8 7.5L-3.4 -6.5L2 1.6L8 -7.5L3.6 7L-1.8 -0.6Z"),
    "escalation": Icon("M0 -8.5L6.5 8L0 1.6L-6.5 8Z"),
    "compensation": Icon("M-0.5 -6.5V6.5L-9.5 0ZM8.5 -6.5V6.5L-0.5 0Z"),
    "terminate": Icon(circle_path(9.5), is_solid=True),
    "link": Icon("M-8 -3.4H1V-7.4L8.6 0L1 7.4V3.4H-8Z"),
    "cancel": Icon("M-8 -5.2L-5.2 -8L0 -2.8L5.2 -8L8 -5.2L2.8 0L8 5.2L5.2 8L0 2.8L-5.2 8L-8 5.2L-2.8 0Z"),
    "multiple": Icon(_PENTAGON),
    "parallel_multiple": Icon("M-2.4 -8.6H2.4V-2.4H8.6V2.4H2.4V8.6H-2.4V2.4H-8.6V-2.4H-2.4Z"),
}

TASK_ICONS = {
    "userTask": Icon("M-8.4 8.6C-8.4 2.6 -5.6 1 0 1S8.4 2.6 8.4 8.6Z" + circle_path(4.3, 0, -4.4)),
    "manualTask": Icon(
        "M-9 -1.6L-3.4 -7.4C-2.2 -8.6 -0.6 -7 -1.6 -5.8L-3.2 -3.8H7.4C9.6 -3.8 9.6 -1 7.4 -1H8.2C10 -1 10 1.9 8.2 1.9"
        "H7.2C9 1.9 9 4.6 7.2 4.6H5.6C7.2 4.6 7.2 7.2 5.6 7.2H-4.2C-7 7.2 -9 5.4 -9 3Z",
        "M1.6 -1H7.4M1.6 1.9H7.2M1.6 4.6H5.6",
    ),
    "serviceTask": Icon(_gear_path(8, 9.4, 6.8), circle_path(3)),
    "scriptTask": Icon(
        "M-4.4 -8.4H8C4 -5.2 4.4 -3 6 0S7.6 5.6 3.6 8.4H-8.4C-4.4 5.6 -4.8 3 -6.4 0S-8 -5.6 -4.4 -8.4Z",
        "M-4.2 -4.4H2M-4 -1.2H2.6M-2.6 2H4M-2.4 5.2H3.4",
    ),
    "sendTask": Icon(_ENVELOPE.body, _ENVELOPE.details, is_solid=True),
    "receiveTask": _ENVELOPE,
    "businessRuleTask": Icon("M-9 -7H9V7H-9Z", "M-9 -2.6H9M-9 2.2H9M-3.4 -2.6V7"),
}

MARKER_ICONS = {
    "collapsed": Icon("M-8 -8H8V8H-8Z", "M0 -5V5M-5 0H5"),
    "loop": Icon("M-3.4 7.4A8 8 0 1 1 3.6 7.2M-3.4 7.4L-3 2.6M-3.4 7.4H-8.2", is_open=True),
    "parallel": Icon("M-6 -7V7M0 -7V7M6 -7V7", is_open=True),
    "sequential": Icon("M-7 -6H7M-7 0H7M-7 6H7", is_open=True),
    "compensation": EVENT_ICONS["compensation"],
    "ad_hoc": Icon("M-8 2.4C-5 -5.6 -2 -3.2 0 0S5 5.6 8 -2.4", is_open=True),
}

GATEWAY_ICONS = {
    "exclusiveGateway": Icon("M-5.6 -7.4L5.6 7.4M5.6 -7.4L-5.6 7.4", is_open=True),
    "parallelGateway": Icon("M0 -9V9M-9 0H9", is_open=True),
    "inclusiveGateway": Icon(circle_path(8), is_open=True),
    "complexGateway": Icon("M0 -9V9M-9 0H9M-6.4 -6.4L6.4 6.4M6.4 -6.4L-6.4 6.4", is_open=True),
}
PENTAGON = Icon(make_path(*_polygon(5, 7), closed=True))
PLUS = EVENT_ICONS["parallel_multiple"]


ITEM_ICONS = {
    "humanTask": TASK_ICONS["userTask"],
    "processTask": Icon("M-9 -6H3.4L9 0L3.4 6H-9L-3.8 0Z"),
    "caseTask": Icon("M-9 7V-7H-2.4L-0.4 -4H9V7Z", "M-9 -4H-0.4"),
    "decisionTask": TASK_ICONS["businessRuleTask"],
}

LISTENER_ICONS = {"timerEventListener": EVENT_ICONS["timer"], "userEventListener": TASK_ICONS["userTask"]}

DECORATOR_ICONS = {
    "auto_complete": Icon("M-6.5 -6.5H6.5V6.5H-6.5Z", is_solid=True),
    "manual": Icon("M-5.5 -7.5L8 0L-5.5 7.5Z"),
    "required": Icon("M-1.4 -7.6H1.4L0.7 2H-0.7Z" + circle_path(1.2, 0, 6.4), is_solid=True),
    "repetition": Icon("M-2 -8L-3.6 8M3.6 -8L2 8M-7.6 -3H7.6M-7.6 3H7.6", is_open=True),
}

STATE_ICONS = {
    "available": Icon(circle_path(5.5), is_open=True),
    "enabled": Icon("M-4 -6L6.5 0L-4 6Z", is_open=True),
    "active": Icon("M-4 -6L6.5 0L-4 6Z", is_solid=True),
    "suspended": Icon("M-3.2 -5.5V5.5M3.2 -5.5V5.5", is_open=True),
    "disabled": Icon(circle_path(5.8) + "M-4.1 4.1L4.1 -4.1", is_open=True),
    "failed": Icon("M-1 -6.6H1L0.5 1.6H-0.5Z" + circle_path(0.9, 0, 5.6), is_solid=True),
    "completed": Icon("M-6 0.5L-2 4.8L6 -4.6", is_open=True),
    "closed": Icon("M-4.6 -4.6H4.6V4.6H-4.6Z", is_solid=True),
    "terminated": Icon("M-4.6 -4.6L4.6 4.6M4.6 -4.6L-4.6 4.6", is_open=True),
}
