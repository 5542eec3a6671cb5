"""Where the versions of an instance lie when they are drawn as a tree, from left to right in the order of time. Pure.

Of a long history the newest versions are drawn, and around every return the version that was returned to, the last one
that it left behind and the one that it made. What lies between is a number on the line. A version is made from the one
before it, except after a return, so the returns are enough to know every line.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

NEWEST = 40
"""Versions at the end that are drawn whatever they are."""
MOST_BRANCHES = 20
"""The newest returns are drawn; earlier ones lie within the numbers on the lines."""
MOST_ROWS = 8


@dataclass(frozen=True, slots=True)
class Node:
    number: int
    row: int
    """0: the line that has led to the head."""
    parent: int | None
    """The nearest version drawn of those that it was made from."""
    hidden: int
    """How many versions between the two are not drawn."""


def lay_out(head: int, returns: Mapping[int, int]) -> list[Node]:
    """Return the versions to be drawn, oldest first; `returns` are the parents of those that returns have made."""
    shown = _choose(head, returns)
    begins = sorted(returns)
    parents = {number: _find_parent(number, shown, begins, returns) for number in shown}
    rows = _find_rows(head, shown, {number: parent for number, (parent, _) in parents.items()})
    return [Node(number, rows[number], *parents[number]) for number in shown]


def _choose(head: int, returns: Mapping[int, int]) -> list[int]:
    shown = {1, *range(max(1, head - NEWEST + 1), head + 1)}
    for number in sorted(returns, reverse=True)[:MOST_BRANCHES]:
        shown |= {number, number - 1, returns[number]}
    return sorted(shown)


def _find_parent(
    number: int, shown: Sequence[int], begins: Sequence[int], returns: Mapping[int, int]
) -> tuple[int | None, int]:
    """Return the nearest ancestor that is drawn, and how many lie between."""
    hidden, place = 0, returns.get(number, number - 1)
    while place > 0:
        # From the version at `place` down to the first of its stretch each was made from the one before it.
        stretch = bisect_right(begins, place)
        first = begins[stretch - 1] if stretch else 1
        at = bisect_right(shown, place)
        if at and shown[at - 1] >= first:
            return shown[at - 1], hidden + place - shown[at - 1]
        hidden += place - first + 1
        place = returns.get(first, 0)
    return None, hidden


def _find_rows(head: int, shown: Sequence[int], parents: Mapping[int, int | None]) -> dict[int, int]:
    """Put the line of the head on the first row and every branch beside it on one below that is free there."""
    rows: dict[int, int] = {}
    number: int | None = head
    while number is not None:
        rows[number] = 0
        number = parents[number]
    following: dict[int, list[int]] = {}
    for child in shown:
        parent = parents[child]
        if parent is not None and child not in rows:
            following.setdefault(parent, []).append(child)
    taken: list[list[tuple[int, int]]] = []
    """By row: from which column to which something lies there."""
    for first in shown:
        if first in rows:
            continue
        chain = [first]
        while chain[-1] in following:
            chain.append(following[chain[-1]][0])
        begin = bisect_left(shown, parents[first] or first)
        row = _take_row(taken, begin, bisect_left(shown, chain[-1]))
        rows |= dict.fromkeys(chain, row)
    return rows


def _take_row(taken: list[list[tuple[int, int]]], begin: int, end: int) -> int:
    for row, spans in enumerate(taken, start=1):
        if row == MOST_ROWS or all(end <= start or stop <= begin for start, stop in spans):
            spans.append((begin, end))
            return row
    taken.append([(begin, end)])
    return len(taken)
