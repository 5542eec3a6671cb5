"""Visits: which elements a command has entered, and what has come to or gone from them between two states.

A token stands at an element, and a plan item that is active or suspended. Milestones and event listeners occur, which
is an entry without a stay.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from processes.workflows.engine.execution.records import InstanceState, Place, ScopeRecord
from processes.workflows.engine.execution.unit_of_work import UnitOfWork

_STANDING = ("active", "suspended")


class Visit(msgspec.Struct, array_like=True):
    """What a step did at one element; times are those since when something stood there, as the state has them."""

    definition: str
    revision: int
    element: str
    entered: int = 0
    passed: int = 0
    """Entered and left again by the same command."""
    came: Sequence[str] = ()
    left: Sequence[str] = ()
    moved: Sequence[str] = ()
    """Gone without having left: the instance was returned or migrated, or an item suspended or resumed."""


def note_entry(work: UnitOfWork, scope: str, element: str) -> None:
    """Trace and count that an element of a scope is entered."""
    work.trace.append(("enter", element))
    count_entry(work, scope, element)


def count_entry(work: UnitOfWork, scope: str, element: str) -> None:
    work.entered[find_place(work.scopes.records, scope, element)] += 1


def find_place(scopes: Mapping[str, ScopeRecord], scope: str, element: str) -> Place:
    """Return an element of a scope with the definition around it: of a called one, its own."""
    record = scopes[scope]
    while "definition" not in record:
        parent = record["parent"]
        assert parent is not None, "the outermost scope has a definition"
        record = scopes[parent]
    key, revision = record["definition"]
    return key, revision, element


def find_visits(
    before: InstanceState | None,
    after: InstanceState,
    entered: Mapping[Place, int],
    occurred: Mapping[Place, int],
    *,
    is_return: bool = False,
) -> list[Visit]:
    """Return the visits of a step, from the states around it and what its command has entered."""
    visits: dict[Place, Visit] = {}

    def at(place: Place) -> Visit:
        found = visits.get(place)
        if found is None:
            # Lists are given, not made by default: most visits have one of the three.
            found = visits[place] = Visit(place[0], place[1], place[2][:200], came=[], left=[], moved=[])
        return found

    for place, count in (*entered.items(), *occurred.items()):
        at(place).entered += count
    arrived: Counter[Place] = Counter()
    old: InstanceState = before or {}
    for kind, place, since, is_new in _compare(old, after, is_return=is_return):
        getattr(at(place), kind).append(since)
        if is_new:
            arrived[place] += 1
    for place, count in entered.items():
        at(place).passed = max(0, count - arrived[place])
    return list(visits.values())


_STANDS: Mapping[str, Callable[[Mapping[str, Any]], bool]] = {
    # Of a loop the rounds stand there, with tokens of their own.
    "tokens": lambda token: "loop" not in token,
    "items": lambda item: item["state"] in _STANDING,
}
Change = tuple[str, Place, str, bool]
"""What happened, where, since when it had stood or stands there, and whether it is an entry."""


def _compare(before: InstanceState, after: InstanceState, *, is_return: bool) -> Iterator[Change]:
    is_migrated = _find_root(before) != _find_root(after)
    for name, stands in _STANDS.items():
        old: dict[str, Any] = before.get(name) or {}  # type: ignore[assignment]
        new: dict[str, Any] = after.get(name) or {}  # type: ignore[assignment]
        for key in (*old, *(key for key in new if key not in old)):
            one, other = old.get(key), new.get(key)
            # Records are shared by the two states until one is written: most are the same object.
            if one is not other or is_migrated:
                yield from _compare_one(
                    _find_standing(before, one, stands), _find_standing(after, other, stands), name, is_return=is_return
                )


Standing = tuple[Place, str]


def _compare_one(one: Standing | None, other: Standing | None, name: str, *, is_return: bool) -> Iterator[Change]:
    if one == other:
        return
    # An item that is suspended or resumed, and whatever a migration has moved, goes on with its visit.
    continues = one is not None and other is not None and (name == "items" or one[1] == other[1])
    if one is not None:
        yield "moved" if continues or is_return else "left", *one, False
    if other is not None:
        yield "came", *other, not (continues or is_return)


def _find_standing(
    state: InstanceState, record: Mapping[str, Any] | None, stands: Callable[[Mapping[str, Any]], bool]
) -> Standing | None:
    if record is None or not stands(record):
        return None
    return find_place(state["scopes"], record["scope"], record["element"]), record["since"]


def _find_root(state: InstanceState) -> Any:
    """Return the definition and revision that an instance runs."""
    return next((scope["definition"] for scope in state.get("scopes", {}).values() if scope["token"] is None), None)
