"""An instance and its twin, which runs another revision: the input of one told to the other, and both compared.

Ids within a state count what was created before, so two revisions give the same task other ids. It is found again by
its element, and by its place among those that are open at that element.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from processes.workflows.engine.difference import compare_states
from processes.workflows.engine.execution.records import InstanceState, sequence_number

NAMED = {"task": "tasks", "item": "items", "timer": "timers", "subscription": "subscriptions"}
"""The fields of a command that name a record of the state, and the section it is in."""
NOT_FOLLOWED = ("return", "migrate")
"""What changes an instance by its own past or by other revisions: a twin has neither."""
_TASK = ("kind", "name", "topic", "handler", "inputs", "detail", "people")
_ARMED = {"timers": ("due", "left", "interval"), "subscriptions": ("kind", "name"), "conditions": ()}
MOST_LISTED = 20
MOST_ENTERED = 1000
"""Places of a path that are recorded of one input; longer paths are not compared."""


class NoCounterpart(Exception):
    """The twin has nothing at the element that the command is about."""

    def __init__(self, element: str) -> None:
        super().__init__(element)
        self.element = element


@dataclass(frozen=True, slots=True)
class Answer:
    """What an instance made of an input."""

    before: InstanceState | None
    after: InstanceState | None
    """The same as before, where the command failed."""
    path: Sequence[tuple[str, str]] = ()
    effects: Sequence[Mapping[str, Any]] = ()
    failure: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    kind: str
    place: str
    """An element, or the name of a variable; empty: the whole instance."""
    live: Any = field(default=None)
    withheld: Any = field(default=None)


def translate_command(
    command: Mapping[str, Any], live: InstanceState | None, twin: InstanceState | None
) -> dict[str, Any]:
    """Return the command with the twin's own ids; raise `NoCounterpart` where it has no such task, timer or event."""
    translated = dict(command)
    for name, part in NAMED.items():
        if name in command:
            translated[name] = _find_counterpart(_section(live, part), _section(twin, part), str(command[name]))
    return translated


def find_place(command: Mapping[str, Any], live: InstanceState | None) -> str:
    """Return the element that a command is about; empty where it is about the whole instance."""
    for name, part in NAMED.items():
        if name in command:
            record = _section(live, part).get(str(command[name]))
            return "" if record is None else str(record["element"])
    return ""


def find_own_timer(live: InstanceState | None, twin: InstanceState | None, at: datetime) -> tuple[str, datetime] | None:
    """Return the first timer of the twin that was due by then, at an element where the instance has none."""
    waiting = {record["element"] for record in _section(live, "timers").values()}
    due = [
        (datetime.fromisoformat(record["due"]), sequence_number(key), key)
        for key, record in _section(twin, "timers").items()
        if record["element"] not in waiting and record.get("due")
    ]
    first = min(due, default=None)
    return None if first is None or first[0] > at else (first[2], first[0])


def compare_answers(live: Answer, twin: Answer) -> list[Difference]:
    """Return how two answers to the same input differ; those by which they have parted come first."""
    if live.failure is not None or twin.failure is not None:
        return _compare_failures(live.failure, twin.failure)
    return [
        *_compare_paths(live.path, twin.path),
        *_compare_opened(live, twin),
        *_compare_armed(live, twin),
        *_compare_effects(live.effects, twin.effects),
        *_compare_variables(live.after, twin.after),
        *_compare_statuses(live.after, twin.after),
    ]


def list_open(state: InstanceState | None) -> list[str]:
    """Return the elements at which a state waits for something."""
    found = {record["element"] for part in NAMED.values() for record in _open_records(_section(state, part)).values()}
    return sorted(found)[:MOST_LISTED]


def _find_counterpart(live: Mapping[str, Any], twin: Mapping[str, Any], key: str) -> str:
    record = live.get(key)
    if record is None:
        raise NoCounterpart("")
    element = record["element"]
    ours, theirs = (
        [each for each in sorted(part, key=sequence_number) if part[each]["element"] == element]
        for part in (_open_records(live) | {key: record}, _open_records(twin))
    )
    place = ours.index(key)
    if place >= len(theirs):
        raise NoCounterpart(element)
    return theirs[place]


def _open_records(part: Mapping[str, Any]) -> dict[str, Any]:
    """Return the records without plan items that have ended, which are kept to be seen."""
    over = ("completed", "terminated", "closed")
    return {key: record for key, record in part.items() if record.get("state") not in over}


def _compare_failures(live: tuple[str, str] | None, twin: tuple[str, str] | None) -> list[Difference]:
    if live is not None and twin is not None and live[0] == twin[0]:
        return []
    place = (live or twin or ("", ""))[0]
    return [Difference("incident", place, None if live is None else live[1], None if twin is None else twin[1])]


def _compare_paths(live: Sequence[tuple[str, str]], twin: Sequence[tuple[str, str]]) -> Iterator[Difference]:
    if max(len(live), len(twin)) >= MOST_ENTERED:
        return
    # Not their order: of two branches that run side by side either may be the first in the file.
    only_live, only_twin = _subtract(live, twin), _subtract(twin, live)
    if only_live or only_twin:
        place = (only_live or only_twin)[0][1]
        yield Difference("path", place, *([name for _, name in each][:MOST_LISTED] for each in (only_live, only_twin)))


def _subtract(path: Sequence[tuple[str, str]], other: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    left = Counter(map(tuple, other))
    rest: list[tuple[str, str]] = []
    for what, element in path:
        if left[what, element]:
            left[what, element] -= 1
        else:
            rest.append((what, element))
    return rest


def _compare_opened(live: Answer, twin: Answer) -> Iterator[Difference]:
    """Compare the tasks that both have opened; one that a side does not have is told by its path."""
    ours, theirs = (_opened_tasks(answer) for answer in (live, twin))
    for element in sorted(ours.keys() & theirs.keys()):
        if ours[element] != theirs[element]:
            yield Difference("work", element, *_only(ours[element], theirs[element]))


def _opened_tasks(answer: Answer) -> dict[str, Counter[str]]:
    before = _section(answer.before, "tasks")
    opened = [task for key, task in _section(answer.after, "tasks").items() if key not in before]
    return _by_element(opened, _TASK)


def _compare_armed(live: Answer, twin: Answer) -> Iterator[Difference]:
    for part, fields in _ARMED.items():
        ours, theirs = (_newly_armed(answer, part, fields) for answer in (live, twin))
        for element in sorted(ours.keys() | theirs.keys()):
            one, other = ours.get(element, Counter()), theirs.get(element, Counter())
            if one != other:
                yield Difference("waits", element, *_only(one, other))


def _newly_armed(answer: Answer, part: str, fields: Sequence[str]) -> dict[str, Counter[str]]:
    before, after = (_by_element(_section(state, part).values(), fields) for state in (answer.before, answer.after))
    fresh = {element: found - before.get(element, Counter()) for element, found in after.items()}
    return {element: found for element, found in fresh.items() if found}


def _compare_effects(live: Sequence[Mapping[str, Any]], twin: Sequence[Mapping[str, Any]]) -> Iterator[Difference]:
    fields = ("kind", "name", "inputs")
    ours, theirs = _by_element(live, fields), _by_element(twin, fields)
    for element in sorted(ours.keys() | theirs.keys()):
        one, other = ours.get(element, Counter()), theirs.get(element, Counter())
        if one != other:
            yield Difference("effects", element, *_only(one, other))


def _compare_variables(live: InstanceState | None, twin: InstanceState | None) -> Iterator[Difference]:
    found = compare_states(live or {}, twin or {})["variables"]
    for name, value in found["removed"].items():
        yield Difference("variables", name, value, None)
    for name, value in found["added"].items():
        yield Difference("variables", name, None, value)
    for name, both in found["changed"].items():
        yield Difference("variables", name, both["before"], both["after"])


def _compare_statuses(live: InstanceState | None, twin: InstanceState | None) -> Iterator[Difference]:
    ours, theirs = (state["status"] if state else "" for state in (live, twin))
    if ours != theirs:
        yield Difference("status", "", ours, theirs)


def _by_element(records: Iterable[Mapping[str, Any]], fields: Sequence[str]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for record in records:
        shown = {name: record[name] for name in fields if name in record}
        found.setdefault(record["element"], Counter())[json.dumps(shown, sort_keys=True, default=dict)] += 1
    return found


def _only(one: Counter[str], other: Counter[str]) -> tuple[list[Any], list[Any]]:
    """Return what only one side has, and what only the other has."""
    first, second = ([json.loads(text) for text in (a - b).elements()] for a, b in ((one, other), (other, one)))
    return first[:MOST_LISTED], second[:MOST_LISTED]


def _section(state: InstanceState | None, part: str) -> dict[str, Any]:
    found: dict[str, Any] = (state or {}).get(part) or {}  # type: ignore[assignment]
    return found
