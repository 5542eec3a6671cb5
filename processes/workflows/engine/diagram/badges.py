"""The work of an instance on the drawing: tokens and incidents as badges on the corners of a shape."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from lxml import etree

from processes.workflows.engine.diagram.canvas import add, add_text
from processes.workflows.engine.diagram.colours import ACCENT, ACTIVE, ALARM, BROKEN, FINISHED, PAPER, PLAIN, Look
from processes.workflows.engine.diagram.marks import Marks, Words
from processes.workflows.engine.diagram.picture import Bounds

_RADIUS = 10.0
_MOST = 999


@dataclass(frozen=True, slots=True)
class Standing:
    """What the marks say of the shapes, those of undrawn elements counted where they are shown."""

    tokens: Mapping[str, int]
    incidents: frozenset[str]
    done: frozenset[str]

    def get_look(self, key: str) -> Look:
        if key in self.incidents:
            return BROKEN
        if key in self.tokens:
            return ACTIVE
        return FINISHED if key in self.done else PLAIN

    def describe(self, key: str, words: Words) -> str:
        """Say in words what the badges of a shape show; nothing when there are none."""
        parts = [words.incident] if key in self.incidents else []
        if key in self.tokens:
            parts.append(f"{words.tokens}: {self.tokens[key]}")
        if not parts and key in self.done:
            parts.append(words.done)
        return ", ".join(parts)


def find_standing(marks: Marks, shown_by: Mapping[str, str]) -> Standing:
    tokens: Counter[str] = Counter()
    for key, count in marks.active.items():
        if key in shown_by and count > 0:
            tokens[shown_by[key]] += count
    return Standing(
        tokens=dict(tokens),
        incidents=frozenset(shown_by[key] for key in marks.incidents if key in shown_by),
        # A part that is done does not make the whole done: only what is drawn itself.
        done=frozenset(key for key in marks.done if shown_by.get(key) == key),
    )


def draw_badges(parent: etree._Element, bounds: Bounds, tokens: int, *, has_incident: bool) -> None:
    if tokens:
        text = str(tokens) if tokens <= _MOST else f"{_MOST}+"
        _draw_badge(parent, text, bounds.x, bounds.y, ACCENT)
    if has_incident:
        _draw_badge(parent, "!", bounds.right, bounds.y, ALARM)


def _draw_badge(parent: etree._Element, text: str, x: float, y: float, colour: str) -> None:
    """Draw a disc, for more than one digit a longer one."""
    width = max(2 * _RADIUS, 8 + 8 * len(text))
    badge = add(parent, "rect", x=x - width / 2, y=y - _RADIUS, width=width, height=2 * _RADIUS, rx=_RADIUS)
    for name, value in {"fill": colour, "stroke": PAPER, "stroke-width": "2"}.items():
        badge.set(name, value)
    label = add_text(parent, "text", text, x=x, y=y + 4, font_size=11.5, fill=PAPER, text_anchor="middle")
    label.set("font-weight", "700")
