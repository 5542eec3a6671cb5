"""Lines of text in a box. There is no font here to measure with: widths are those of a wide sans-serif, so that what
fits by them fits on every machine.
"""

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

LINE_HEIGHT = 1.22

_NARROW = frozenset("iljtfrI.,:;'|!()[] ")
_WIDE = frozenset("mwMW@%ЖШЩЮжшщюЫФ—…")


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that were laid out, and the size of their letters."""

    lines: tuple[str, ...]
    size: float

    @property
    def width(self) -> float:
        return max((measure(line, self.size) for line in self.lines), default=0)

    @property
    def height(self) -> float:
        return len(self.lines) * self.size * LINE_HEIGHT


def fit(text: str, width: float, height: float, sizes: tuple[float, ...] = (12, 11, 10)) -> Block:
    """Lay text out in a box by the largest letters it fits with; with the smallest the rest is left out."""
    block = Block((), sizes[-1])
    for size in sizes:
        lines = wrap(text, width, size)
        room = max(1, int(height / (size * LINE_HEIGHT)))
        block = Block(lines[:room], size)
        if len(lines) <= room:
            return block
    return Block((*block.lines[:-1], _cut(block.lines[-1], width, block.size)), block.size)


def wrap(text: str, width: float, size: float) -> tuple[str, ...]:
    return tuple(line for paragraph in text.splitlines() for line in _wrap_paragraph(paragraph, width, size))


def measure(text: str, size: float) -> float:
    return sum(_measure_letter(letter) for letter in text) * size


def _wrap_paragraph(text: str, width: float, size: float) -> Iterator[str]:
    line, taken, space = "", 0.0, measure(" ", size)
    for word in text.split():
        wide = measure(word, size)
        # Widths are added up, not measured anew: a name has many words and a file many names.
        if line and taken + space + wide <= width:
            line, taken = f"{line} {word}", taken + space + wide
            continue
        if line:
            yield line
        *full, line = _break(word, width, size)
        yield from full
        taken = measure(line, size)
    if line:
        yield line


def _break(word: str, width: float, size: float) -> list[str]:
    """Break a word that is wider than the box; a piece is never empty."""
    pieces, taken = [""], 0.0
    for letter in word:
        wide = measure(letter, size)
        if pieces[-1] and taken + wide > width:
            pieces.append("")
            taken = 0
        pieces[-1] += letter
        taken += wide
    return pieces


def _cut(line: str, width: float, size: float) -> str:
    kept, taken = 0, measure("…", size)
    while kept < len(line) and taken + measure(line[kept], size) <= width:
        taken += measure(line[kept], size)
        kept += 1
    return line[:kept].rstrip() + "…"


@lru_cache(maxsize=2_000)
def _measure_letter(letter: str) -> float:
    if unicodedata.combining(letter):
        return 0
    if letter in _NARROW:
        return 0.36
    if letter in _WIDE:
        return 0.94
    if unicodedata.east_asian_width(letter) in "WF":
        return 1
    return 0.7 if letter.isupper() else 0.6
