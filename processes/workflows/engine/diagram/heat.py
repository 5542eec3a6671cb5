"""The heat of an element: its colour on the heat map, and a label with its figures above it."""

from dataclasses import dataclass

from lxml import etree

from processes.workflows.engine.diagram.colours import ACCENT, INK, PAPER, ShapeStyle
from processes.workflows.engine.diagram.labels import measure_width
from processes.workflows.engine.diagram.picture import Bounds
from processes.workflows.engine.diagram.svg import add_element, add_text

_HEIGHT = 18.0
_SIZE = 10.5
_GAP = 2.0
_TALL = 60.0
"""From here on a label may lie across the upper border: in a smaller shape it would hide what is drawn there."""
_WIDE, _HIGH = 220.0, 130.0
"""From here on a shape surrounds others and has its own name at the top, on the left or in the middle."""


@dataclass(frozen=True, slots=True)
class Heat:
    """The figures of an element on a heat map."""

    style: ShapeStyle | None
    """None: nothing was measured in the period, although something stands there."""
    label: str
    """Short, for the label; empty where there is nothing to say."""
    standing: str
    """How many stand there now; empty: none."""
    text: str
    """In words."""


def place_heat(heat: Heat, bounds: Bounds, name: Bounds | None = None) -> Bounds:
    """Return the area of an element's label: above it, across its upper border, or below if its name is above."""
    width = sum(_measure(part) for part in (heat.standing, heat.label) if part)
    width += _GAP if heat.standing and heat.label else 0
    # The icon of a task stands in its upper corner: across the border, a label reaches only a little way in.
    top = bounds.y - 14 if bounds.height >= _TALL else bounds.y - _HEIGHT - _GAP
    if name is not None and bounds.height < _TALL and name.y < bounds.y:
        top = bounds.bottom + _GAP  # its name stands above it
    is_surrounding = bounds.width >= _WIDE and bounds.height >= _HIGH
    left = bounds.right - width - 14 if is_surrounding else bounds.centre.x - width / 2
    return Bounds(left, top, width, _HEIGHT)


def draw_heat(parent: etree._Element, heat: Heat, area: Bounds) -> None:
    """Draw the label in its area: how many stand there now on the ground of tokens, then the figures."""
    left = area.x
    for part, ground in ((heat.standing, ACCENT), (heat.label, heat.style.stroke if heat.style else INK)):
        if not part:
            continue
        width = _measure(part)
        pill = add_element(parent, "rect", x=left, y=area.y, width=width, height=_HEIGHT, rx=_HEIGHT / 2)
        for name, value in {"fill": ground, "stroke": PAPER, "stroke-width": "1.5"}.items():
            pill.set(name, value)
        text = add_text(parent, "text", part, x=left + width / 2, y=area.y + 12.8, font_size=_SIZE, fill=PAPER)
        text.set("text-anchor", "middle")
        text.set("font-weight", "700")
        left += width + _GAP


def _measure(text: str) -> float:
    return max(_HEIGHT, measure_width(text, _SIZE) + 12)
