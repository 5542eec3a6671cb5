"""The versions of an instance as a tree: lanes from the newest down, drawn row by row.

A version is made from the one before it, except after a return: the returns, which are few, are enough to know the
branches, so a page in the middle is drawn without reading those above it. The first lane leads to the head. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MOST_LANES = 6


@dataclass(frozen=True)
class Row:
    number: int
    cells: list[str]
    """By lane: the directions of the lines from the middle of the cell (up, down, left, right), and `node`."""
    is_current: bool
    """The head was made from it."""


def draw_tree(versions: Sequence[tuple[int, int | None]], *, head: int, returns: Mapping[int, int]) -> list[Row]:
    """Draw versions, each with its parent, newest first and without a gap; `returns` are the parents after returns."""
    if not versions:
        return []
    lanes = _open_lanes(versions[0][0], head=head, returns=returns)
    return [_row(number, parent, lanes) for number, parent in versions]


def _open_lanes(top: int, *, head: int, returns: Mapping[int, int]) -> list[int | None]:
    """Return the next version of each lane that is open above the first row, the head's lane first."""
    if top >= head:
        return []
    above = {parent for number, parent in returns.items() if number > top >= parent}
    if top + 1 not in returns:
        above.add(top)
    own = _ancestor(head, top, returns)
    return [own, *sorted(above - {own}, reverse=True)]


def _ancestor(head: int, top: int, returns: Mapping[int, int]) -> int:
    """Return the newest version up to `top` from which the head was made."""
    number = head
    for begin in sorted(returns, reverse=True):
        if begin <= top:
            break
        if begin <= number:
            number = returns[begin]
    return min(number, top)


def _row(number: int, parent: int | None, lanes: list[int | None]) -> Row:
    waiting = [place for place, following in enumerate(lanes) if following == number]
    if not waiting and None not in lanes:
        lanes.append(None)
    # A branch that begins here takes a free lane; the first one is free for the head alone.
    column = waiting[0] if waiting else lanes.index(None)
    joining = waiting[1:]
    last = joining[-1] if joining else column
    cells = []
    for place, following in enumerate(lanes):
        cell = [] if following is None else ["up"] if place in joining else ["up", "down"]
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
    # As many lanes as fit the page; a version beyond them stands in the last.
    shown = cells[:MOST_LANES] if column < MOST_LANES else [*cells[: MOST_LANES - 1], "node"]
    return Row(number, shown, is_current=column == 0)
