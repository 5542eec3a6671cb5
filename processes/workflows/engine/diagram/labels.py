"""Text on a drawing: inside shapes, and beside events, gateways and flows."""

import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from lxml import etree

from processes.workflows.engine.diagram.colours import PAPER, TEXT
from processes.workflows.engine.diagram.picture import Bounds, Edge, Point, Shape
from processes.workflows.engine.diagram.svg import add_element, add_text, format_number

LINE_HEIGHT = 1.22


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Lines of text that were laid out, and their font size."""

    lines: tuple[str, ...]
    size: float

    @property
    def width(self) -> float:
        return max((measure_width(line, self.size) for line in self.lines), default=0)

    @property
    def height(self) -> float:
        return len(self.lines) * self.size * LINE_HEIGHT


_WIDTH = 100.0
"""A label beside something may become this wide, even when the box in the file is tighter: fonts differ."""
_ROOM = 140.0
_GAP = 5.0


def write_block(
    parent: etree._Element, block: TextBlock, x: float, top: float, anchor: str = "middle"
) -> etree._Element:
    """Write the lines of a block below one another; `x` is their middle, or their start."""
    text = add_element(parent, "text", font_size=block.size, text_anchor=anchor, fill=TEXT)
    for number, line in enumerate(block.lines):
        # The baseline lies at four fifths of a letter's height.
        baseline = top + (number * LINE_HEIGHT + (LINE_HEIGHT - 1) / 2 + 0.8) * block.size
        add_text(text, "tspan", line, x=x, y=baseline)
    return text


def write_upright(parent: etree._Element, name: str, band: Bounds) -> None:
    """Write a name from bottom to top along the middle of a narrow band."""
    block = fit_text(name, band.height - 12, band.width - 4)
    centre = band.centre
    text = write_block(parent, block, 0, -block.height / 2)
    text.set("transform", f"translate({format_number(centre.x)} {format_number(centre.y)}) rotate(-90)")


def write_label(parent: etree._Element, block: TextBlock, bounds: Bounds) -> None:
    """Write a label beside a shape or a flow, outlined in the background colour to stay legible on lines."""
    text = write_block(parent, block, bounds.centre.x, bounds.y)
    for name, value in {"stroke": PAPER, "stroke-width": "4", "stroke-linejoin": "round"}.items():
        text.set(name, value)
    text.set("paint-order", "stroke")


def place_shape_label(shape: Shape) -> tuple[TextBlock, Bounds]:
    """Lay out the name of an event or a gateway: at the label's place in the file, else below the shape."""
    block = _lay_out_label(shape.element.name, shape.label)
    if shape.label is not None:
        return block, _bounds_around(shape.label.centre.x, shape.label.y, block)
    return block, _bounds_around(shape.bounds.centre.x, shape.bounds.bottom + _GAP, block)


def place_edge_label(edge: Edge) -> tuple[TextBlock, Bounds]:
    """Lay out the name of a flow: at the label's place in the file, else at the middle of the line."""
    block = _lay_out_label(edge.element.name, edge.label)
    if edge.label is not None:
        return block, _bounds_around(edge.label.centre.x, edge.label.y, block)
    middle, is_level = _find_middle(edge.points)
    if is_level:
        return block, _bounds_around(middle.x, middle.y - block.height - _GAP, block)
    return block, _bounds_around(middle.x + block.width / 2 + _GAP, middle.y - block.height / 2, block)


def _lay_out_label(name: str, label: Bounds | None) -> TextBlock:
    width = max(_WIDTH, label.width) if label is not None else _WIDTH
    return fit_text(name, width, max(_ROOM, label.height if label is not None else 0), sizes=(11,))


def _bounds_around(middle: float, top: float, block: TextBlock) -> Bounds:
    return Bounds(middle - block.width / 2, top, block.width, block.height)


def _find_middle(points: Sequence[Point]) -> tuple[Point, bool]:
    """Return the point halfway along a line, and whether the line is rather horizontal there."""
    left = sum(length for _, _, length in _measure_segments(points)) / 2
    for start, end, length in _measure_segments(points):
        if left <= length:
            part = left / length
            middle = Point(start.x + (end.x - start.x) * part, start.y + (end.y - start.y) * part)
            return middle, abs(end.x - start.x) >= abs(end.y - start.y)
        left -= length
    return points[-1], True


def _measure_segments(points: Sequence[Point]) -> Iterator[tuple[Point, Point, float]]:
    for start, end in pairwise(points):
        yield start, end, math.dist((start.x, start.y), (end.x, end.y))


_NARROW = frozenset("iljtfrI.,:;'|!()[] ")
_WIDE = frozenset("mwMW@%ЖШЩЮжшщюЫФ—…")


def fit_text(text: str, width: float, height: float, sizes: tuple[float, ...] = (12, 11, 10)) -> TextBlock:
    """Lay text out in a box in the largest of the sizes it fits with; in the smallest, what is left over is cut."""
    block = TextBlock((), sizes[-1])
    for size in sizes:
        lines = wrap_text(text, width, size)
        room = max(1, int(height / (size * LINE_HEIGHT)))
        block = TextBlock(lines[:room], size)
        if len(lines) <= room:
            return block
    return TextBlock((*block.lines[:-1], _cut_line(block.lines[-1], width, block.size)), block.size)


def wrap_text(text: str, width: float, size: float) -> tuple[str, ...]:
    return tuple(line for paragraph in text.splitlines() for line in _wrap_paragraph(paragraph, width, size))


def measure_width(text: str, size: float) -> float:
    return sum(_measure_character(character) for character in text) * size


def _wrap_paragraph(text: str, width: float, size: float) -> Iterator[str]:
    line, taken, space = "", 0.0, measure_width(" ", size)
    for word in text.split():
        wide = measure_width(word, size)
        # Widths are added up instead of measuring the line again: a file may have many long names.
        if line and taken + space + wide <= width:
            line, taken = f"{line} {word}", taken + space + wide
            continue
        if line:
            yield line
        *full, line = _break_word(word, width, size)
        yield from full
        taken = measure_width(line, size)
    if line:
        yield line


def _break_word(word: str, width: float, size: float) -> list[str]:
    """Break a word that is wider than the box into pieces, none of them empty."""
    pieces, taken = [""], 0.0
    for character in word:
        wide = measure_width(character, size)
        if pieces[-1] and taken + wide > width:
            pieces.append("")
            taken = 0
        pieces[-1] += character
        taken += wide
    return pieces


def _cut_line(line: str, width: float, size: float) -> str:
    kept, taken = 0, measure_width("…", size)
    while kept < len(line) and taken + measure_width(line[kept], size) <= width:
        taken += measure_width(line[kept], size)
        kept += 1
    return line[:kept].rstrip() + "…"


@lru_cache(maxsize=2_000)
def _measure_character(character: str) -> float:
    if unicodedata.combining(character):
        return 0
    if character in _NARROW:
        return 0.36
    if character in _WIDE:
        return 0.94
    if unicodedata.east_asian_width(character) in "WF":
        return 1
    return 0.7 if character.isupper() else 0.6
