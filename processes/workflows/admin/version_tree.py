"""The versions of an instance as a tree: lanes from the newest down, drawn row by row.

A version is made from the one before it, save after a return: so the returns alone, which are few, tell the branches,
and a page in the middle is drawn without reading what stands above it. The first lane is the way of the head. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MOST_LANES = 6


@dataclass(frozen=True)
class Row:
    number: int
    cells: list[str]
    """By lane: where lines leave the middle of the cell (up, down, left, right), and `node`."""
    is_current: bool
    """Whether the head was made from it."""


def draw_tree(versions: Sequence[tuple[int, int | None]], *, head: int, returns: Mapping[int, int]) -> list[Row]:
    """Draw versions, each with its parent, newest first and without a gap; `returns` are the parents after returns."""
    if not versions:
        return []
    lanes = _enter(versions[0][0], head=head, returns=returns)
    return [_row(number, parent, lanes) for number, parent in versions]


def _enter(top: int, *, head: int, returns: Mapping[int, int]) -> list[int | None]:
    """Return which versions the lanes wait for above this one: the head's first."""
    if top >= head:
        return []
    above = {parent for number, parent in returns.items() if number > top >= parent}
    if top + 1 not in returns:
        above.add(top)
    own = _ancestor(head, top, returns)
    return [own, *sorted(above - {own}, reverse=True)]


def _ancestor(head: int, top: int, returns: Mapping[int, int]) -> int:
    """Find the newest version up to `top` from which the head was made."""
    number = head
    for begin in sorted(returns, reverse=True):
        if begin <= top:
            break
        if begin <= number:
            number = returns[begin]
    return min(number, top)


def _row(number: int, parent: int | None, lanes: list[int | None]) -> Row:
    waiting = [place for place, wanted in enumerate(lanes) if wanted == number]
    column = waiting[0] if waiting else _free(lanes)
    joining = waiting[1:]
    last = joining[-1] if joining else column
    cells = []
    for place, wanted in enumerate(lanes):
        cell = _lines(place, wanted, joining)
        if place == column:
            cell = [*(["up"] if waiting else []), *(["down"] if parent is not None else []), "node"]
        if column <= place < last:
            cell.append("right")
        if column < place <= last:
            cell.append("left")
        cells.append(" ".join(cell))
    for place in joining:
        lanes[place] = None
    lanes[column] = parent
    while lanes and lanes[-1] is None:
        lanes.pop()
    return Row(number, _narrow(cells, column), is_current=column == 0)


def _free(lanes: list[int | None]) -> int:
    """Return the lane of a branch that begins here: never the first, which the head has taken."""
    if None not in lanes:
        lanes.append(None)
    return lanes.index(None)


def _lines(place: int, wanted: int | None, joining: Sequence[int]) -> list[str]:
    if wanted is None:
        return []
    return ["up"] if place in joining else ["up", "down"]


def _narrow(cells: list[str], column: int) -> list[str]:
    """Keep as many lanes as fit; a version beyond them stands in the last."""
    if column < MOST_LANES:
        return cells[:MOST_LANES]
    return [*cells[: MOST_LANES - 1], "node"]
