"""The work of an instance on the drawing: tokens, states and incidents as badges on the corners of a shape."""

from lxml import etree

from processes.workflows.engine.diagram.canvas import add, add_text
from processes.workflows.engine.diagram.case_icons import STATES
from processes.workflows.engine.diagram.colours import ACCENT, ALARM, PAPER
from processes.workflows.engine.diagram.icons import draw_icon
from processes.workflows.engine.diagram.item_states import LOOKS
from processes.workflows.engine.diagram.marks import MarkLabels
from processes.workflows.engine.diagram.picture import Bounds
from processes.workflows.engine.diagram.standing import ShapeMarks, say_count

_RADIUS = 10.0
_MOST = 999
_REACH = 22.0
"""How far a badge may lie outside of its shape: within the margin of the drawing."""


def draw_badges(parent: etree._Element, bounds: Bounds, key: str, standing: ShapeMarks, words: MarkLabels) -> None:
    state, tokens = standing.find_state(key), standing.tokens.get(key, 0)
    if state is not None:
        _draw_state(parent, *state, bounds.x, bounds.y, words)
    if tokens:
        _draw_badge(parent, _write_count(tokens), bounds.x, bounds.y, ACCENT)
    if key in standing.incidents or key in standing.failed:
        _draw_badge(parent, "!", bounds.right, bounds.y, ALARM)


def _draw_state(parent: etree._Element, state: str, count: int, x: float, y: float, words: MarkLabels) -> None:
    """Draw the sign of a state, before the number of several."""
    badge = add(parent, "g", data_state=state)
    add_text(badge, "title", say_count(words.say_state(state), count))
    text = _write_count(count) if count > 1 else ""
    wide = 8.0 * len(text)
    width = 2 * _RADIUS + (wide + 2 if text else 0)
    # To the left as far as there is room: on the right it would cover the icon of a task.
    left = x - min(width - _RADIUS, _REACH)
    _draw_disc(badge, left, y, width, LOOKS[state].stroke)
    draw_icon(badge, STATES[state], left + _RADIUS, y, scale=0.85, ink=PAPER)
    if text:
        _write(badge, text, left + 2 * _RADIUS - 1 + wide / 2, y)


def _draw_badge(parent: etree._Element, text: str, x: float, y: float, colour: str) -> None:
    """Draw a disc, for more than one digit a longer one."""
    width = max(2 * _RADIUS, 8 + 8 * len(text))
    _draw_disc(parent, x - width / 2, y, width, colour)
    _write(parent, text, x, y)


def _draw_disc(parent: etree._Element, left: float, y: float, width: float, colour: str) -> None:
    badge = add(parent, "rect", x=left, y=y - _RADIUS, width=width, height=2 * _RADIUS, rx=_RADIUS)
    for name, value in {"fill": colour, "stroke": PAPER, "stroke-width": "2"}.items():
        badge.set(name, value)


def _write(parent: etree._Element, text: str, x: float, y: float) -> None:
    label = add_text(parent, "text", text, x=x, y=y + 4, font_size=11.5, fill=PAPER, text_anchor="middle")
    label.set("font-weight", "700")


def _write_count(count: int) -> str:
    return str(count) if count <= _MOST else f"{_MOST}+"
