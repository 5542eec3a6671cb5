"""The marks of an instance on the diagram of its definition: tokens, states and incidents, as colours and badges."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from lxml import etree

from processes.workflows.engine.diagram.colours import (
    ACCENT,
    ACTIVE,
    ALARM,
    BROKEN,
    FINISHED,
    GONE,
    OFFERED,
    PAPER,
    PAUSED,
    PLAIN,
    ShapeStyle,
)
from processes.workflows.engine.diagram.heat import Heat
from processes.workflows.engine.diagram.icons import STATE_ICONS as STATE_ICONS
from processes.workflows.engine.diagram.icons import draw_icon
from processes.workflows.engine.diagram.picture import Bounds
from processes.workflows.engine.diagram.svg import add_element, add_text


@dataclass(frozen=True, slots=True)
class Note:
    """A remark on an element that has nothing to do with an instance: its colours, a sign, its words."""

    style: ShapeStyle
    sign: str
    text: str


@dataclass(frozen=True, slots=True)
class Marks:
    """The tokens, incidents and item states of an instance; ids that the file does not have are ignored."""

    active: Mapping[str, int] = field(default_factory=dict)
    """Tokens by element."""
    incidents: frozenset[str] = frozenset()
    done: frozenset[str] = frozenset()
    """Elements that were completed."""
    items: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Of a case: how many instances of a plan item are in which state."""
    notes: Mapping[str, Note] = field(default_factory=dict)
    heat: Mapping[str, Heat] = field(default_factory=dict)
    """Of the heat map of a revision, by element."""


@dataclass(frozen=True, slots=True)
class MarkLabels:
    """The texts of the marks in the language of the reader."""

    tokens: str = "Tokens"
    incident: str = "Incident"
    done: str = "Done"
    states: Mapping[str, str] = field(default_factory=dict)
    """The states of plan items; one that is not here is called by its own name."""

    def label_state(self, state: str) -> str:
        return self.states.get(state, state)


STATE_STYLES: Mapping[str, ShapeStyle] = MappingProxyType(
    {
        "active": ACTIVE,
        "enabled": OFFERED,
        "suspended": PAUSED,
        "available": PLAIN,
        "disabled": GONE,
        "failed": BROKEN,
        "completed": FINISHED,
        "terminated": GONE,
        "closed": GONE,
    }
)
STATES = tuple(STATE_STYLES)
"""The most alive first: of an item that repeats, that one is shown."""


def find_shown_state(counts: Mapping[str, int]) -> tuple[str, int] | None:
    """Choose the state that is shown of an item's instances, and how many are in it; None when there are none."""
    return next(((state, counts[state]) for state in STATES if counts.get(state, 0) > 0), None)


@dataclass(frozen=True, slots=True)
class ShapeMarks:
    """The marks by shape; those of elements without a shape count for the shape that stands for them."""

    tokens: Mapping[str, int]
    incidents: frozenset[str]
    done: frozenset[str]
    items: Mapping[str, Mapping[str, int]]
    """Of plan items that are drawn: how many are in which state."""
    failed: frozenset[str]
    """Shapes with a failed item that their shown state hides: one without a shape, or an earlier one of several."""
    notes: Mapping[str, Note]
    heat: Mapping[str, Heat]

    def get_style(self, key: str) -> ShapeStyle:
        if key in self.heat:
            return self.heat[key].style or PLAIN
        if key in self.incidents:
            return BROKEN
        state = self.find_state(key)
        if state is not None:
            return STATE_STYLES[state[0]]
        if key in self.tokens:
            return ACTIVE
        if key in self.notes:
            return self.notes[key].style
        return FINISHED if key in self.done else PLAIN

    def find_state(self, key: str) -> tuple[str, int] | None:
        """Find the state that is shown of a plan item, and how many are in it."""
        return find_shown_state(self.items.get(key, {}))

    def has_badges(self, key: str) -> bool:
        is_marked = any(key in marked for marked in (self.tokens, self.incidents, self.failed, self.notes))
        return is_marked or self.find_state(key) is not None

    def describe(self, key: str, mark_labels: MarkLabels) -> str:
        """Return what the badges of a shape show as text; empty when there are none."""
        parts = [mark_labels.incident] if key in self.incidents else []
        counts = self.items.get(key, {})
        parts += [
            format_count(mark_labels.label_state(state), counts[state]) for state in STATES if counts.get(state, 0) > 0
        ]
        if key in self.failed and not counts.get("failed"):
            parts.append(mark_labels.label_state("failed"))
        if key in self.tokens:
            parts.append(f"{mark_labels.tokens}: {self.tokens[key]}")
        if key in self.notes:
            parts.append(self.notes[key].text)
        if key in self.heat:
            parts.append(self.heat[key].text)
        if not parts and key in self.done:
            parts.append(mark_labels.done)
        return ", ".join(parts)


def assign_marks(marks: Marks, shown_by: Mapping[str, str]) -> ShapeMarks:
    tokens: Counter[str] = Counter()
    for key, count in marks.active.items():
        shape = _find_shape(key, shown_by)
        if shape and count > 0:
            tokens[shape] += count
    items = {key: counts for key, counts in marks.items.items() if shown_by.get(key) == key}
    return ShapeMarks(
        tokens=dict(tokens),
        incidents=frozenset(shape for key in marks.incidents if (shape := _find_shape(key, shown_by))),
        # A completed part does not complete the whole: only elements with a shape of their own count.
        done=frozenset(key for key in marks.done if shown_by.get(key) == key),
        items=items,
        failed=frozenset(_find_failed(marks.items, shown_by)),
        notes={shown_by[key]: note for key, note in marks.notes.items() if key in shown_by},
        # What lies in a collapsed shape is not added to it: its stays lie within those of the shape.
        heat={key: heat for key, heat in marks.heat.items() if shown_by.get(key) == key},
    )


def _find_shape(key: str, shown_by: Mapping[str, str]) -> str:
    """Return the shape that stands for an element; what a translation has added to a file stands at its element."""
    return shown_by.get(key) or shown_by.get(key.partition("~")[0], "")


def format_count(word: str, count: int) -> str:
    return word if count == 1 else f"{word}: {count}"


def _find_failed(items: Mapping[str, Mapping[str, int]], shown_by: Mapping[str, str]) -> Iterator[str]:
    for key, counts in items.items():
        state = find_shown_state(counts)
        is_shown = shown_by.get(key) == key and state is not None and state[0] == "failed"
        if key in shown_by and counts.get("failed", 0) > 0 and not is_shown:
            yield shown_by[key]


_RADIUS = 10.0
_MOST = 999
_REACH = 22.0
"""How far a badge may lie outside of its shape: within the margin of the drawing."""


def draw_badges(
    parent: etree._Element, bounds: Bounds, key: str, shape_marks: ShapeMarks, mark_labels: MarkLabels
) -> None:
    state, tokens = shape_marks.find_state(key), shape_marks.tokens.get(key, 0)
    if state is not None:
        _draw_state(parent, *state, bounds.x, bounds.y, mark_labels)
    if tokens:
        _draw_badge(parent, _format_badge_count(tokens), bounds.x, bounds.y, ACCENT)
    if key in shape_marks.notes:
        note = shape_marks.notes[key]
        _draw_badge(parent, note.sign, bounds.right, bounds.bottom, note.style.stroke)
    if key in shape_marks.incidents or key in shape_marks.failed:
        _draw_badge(parent, "!", bounds.right, bounds.y, ALARM)


def _draw_state(parent: etree._Element, state: str, count: int, x: float, y: float, mark_labels: MarkLabels) -> None:
    """Draw the sign of a state, before the number of several."""
    badge = add_element(parent, "g", data_state=state)
    add_text(badge, "title", format_count(mark_labels.label_state(state), count))
    text = _format_badge_count(count) if count > 1 else ""
    wide = 8.0 * len(text)
    width = 2 * _RADIUS + (wide + 2 if text else 0)
    # To the left as far as there is room: on the right it would cover the icon of a task.
    left = x - min(width - _RADIUS, _REACH)
    _draw_disc(badge, left, y, width, STATE_STYLES[state].stroke)
    draw_icon(badge, STATE_ICONS[state], left + _RADIUS, y, scale=0.85, ink=PAPER)
    if text:
        _write_badge_text(badge, text, left + 2 * _RADIUS - 1 + wide / 2, y)


def _draw_badge(parent: etree._Element, text: str, x: float, y: float, colour: str) -> None:
    """Draw a disc, for more than one digit a longer one."""
    width = max(2 * _RADIUS, 8 + 8 * len(text))
    _draw_disc(parent, x - width / 2, y, width, colour)
    _write_badge_text(parent, text, x, y)


def _draw_disc(parent: etree._Element, left: float, y: float, width: float, colour: str) -> None:
    badge = add_element(parent, "rect", x=left, y=y - _RADIUS, width=width, height=2 * _RADIUS, rx=_RADIUS)
    for name, value in {"fill": colour, "stroke": PAPER, "stroke-width": "2"}.items():
        badge.set(name, value)


def _write_badge_text(parent: etree._Element, text: str, x: float, y: float) -> None:
    label = add_text(parent, "text", text, x=x, y=y + 4, font_size=11.5, fill=PAPER, text_anchor="middle")
    label.set("font-weight", "700")


def _format_badge_count(count: int) -> str:
    return str(count) if count <= _MOST else f"{_MOST}+"
