"""The records of a state, as stored in JSON, and their sections. Every id is `epoch.number`, from one counter."""

from collections.abc import Callable, ItemsView, Iterable
from typing import Any, Generic, NotRequired, TypedDict, TypeVar

from processes.workflows.engine.definition import Definition

Library = Callable[[str, int | str | None], tuple[Definition, int]]
"""Finds a definition by its key: a revision by its number, the newest one with a version tag, or the newest."""
"""Find a definition by key and revision (None: the newest), with the revision it is."""

Variables = dict[str, Any]
Place = tuple[str, int, str]
"""An element: the key and revision of its definition, and its id."""
Record = TypeVar("Record")


class ScopeRecord(TypedDict):
    """One run of a process, a sub-process or an event sub-process; or what wraps one round or one compensation."""

    element: str
    parent: str | None
    token: str | None
    """The token or the item this scope belongs to; None: the instance itself."""
    variables: Variables
    definition: NotRequired[list[Any]]
    """Of a process, the instance's own or a called one: key and revision. Variables are not looked for beyond it."""
    written: NotRequired[list[str]]
    """Of a called process: the variables it returns to its caller."""
    wraps: NotRequired[bool]
    """There is one token in it, on the activity that `element` names, which lies in the parent scope by the file."""
    loop: NotRequired[str]
    round: NotRequired[int]
    undo: NotRequired[str]
    interrupted: NotRequired[bool]
    """An interrupting event sub-process has cancelled everything else in it."""


class TokenRecord(TypedDict):
    element: str
    scope: str
    since: str
    flow: NotRequired[str]
    """Of a token that waits at a join: the flow it came by."""
    loop: NotRequired[str]
    """Of a token whose activity runs in rounds, which have tokens of their own."""


class ItemRecord(TypedDict):
    """An item of a case's plan; the case plan model is one too."""

    element: str
    scope: str
    """That of the stage it lies in."""
    state: str
    since: str
    required: NotRequired[bool]
    heard: NotRequired[dict[str, list[int]]]
    """The on-parts that have happened, by the index of the criterion."""
    held: NotRequired[list[int]]
    """The criteria without on-parts whose condition held at the last check."""
    before: NotRequired[str]
    """The state to resume, while the stage around it is suspended."""
    ended_with_case: NotRequired[bool]
    """Nothing else has ended it."""
    paused: NotRequired[list["TimerRecord"]]
    """The timers in it, while it is suspended."""


class PeopleRecord(TypedDict, total=False):
    """Whose a task was when it opened, and by when: names as they are written, times of ISO 8601."""

    assignee: str
    users: list[str]
    groups: list[str]
    due: str
    follow_up: str
    priority: int
    notes: list[str]
    """What could not be evaluated, and why: the task opens without it."""


class RetryRecord(TypedDict):
    tries: int
    pauses: list[float]
    """In seconds; the last one repeats."""


class TaskRecord(TypedDict):
    element: str
    token: str
    """The token or the item that waits for it."""
    scope: str
    kind: str
    name: str
    since: str
    topic: NotRequired[str]
    handler: NotRequired[str]
    hops: NotRequired[int]
    """Of a task with a Python handler: how long the chain is that has led to it."""
    generation: NotRequired[int]
    """Of the same, how many events have led to it."""
    inputs: NotRequired[Variables]
    detail: NotRequired[str]
    """Which round of a loop it is, in words."""
    people: NotRequired[PeopleRecord]
    retry: NotRequired[RetryRecord]
    """How often its work is tried, where the file says so."""


class TimerRecord(TypedDict):
    element: str
    token: str | None
    scope: str
    kind: str
    due: str
    since: str
    hops: NotRequired[int]
    """How long the chain is that has led to it, where it goes on soon."""
    generation: NotRequired[int]
    """How many events have led to it, however long it waits."""
    left: NotRequired[int]
    """How often a cycle fires after this one; absent: without an end."""
    interval: NotRequired[str]


class SubscriptionRecord(TypedDict):
    element: str
    token: str | None
    scope: str
    kind: str
    name: str
    is_persistent: bool


class ConditionRecord(TypedDict):
    element: str
    token: str | None
    scope: str
    is_persistent: bool
    held: bool
    """Whether it held at the last check: the event fires when the condition becomes true, not while it is."""


class CompensationEntry(TypedDict):
    """A completed activity that can be compensated."""

    element: str
    scope: str
    handler: NotRequired[str]
    """The activity that undoes it; without one, what `inner` holds is undone."""
    definition: NotRequired[list[Any]]
    variables: NotRequired[Variables]
    """The variables of scopes that ended with the activity."""
    inner: NotRequired[list["CompensationEntry"]]


class LoopRecord(TypedDict):
    element: str
    token: str
    scope: str
    total: int | None
    """How many rounds there are; None: as long as the condition holds."""
    started: int
    completed: int
    outputs: list[list[Any]]
    entries: list[CompensationEntry]
    weight: int
    items: NotRequired[list[Any]]
    """Of sequential rounds: a copy of the collection, which later writes do not change."""


class UndoRecord(TypedDict):
    """A compensation under way: one entry after the other, the last one first."""

    element: str
    token: str
    scope: str
    entries: list[CompensationEntry]
    within: str | None
    """The scope of the sub-process whose parts are undone; None: the thrower goes on when all is done."""


class DecisionNote(TypedDict):
    """A decision that the command has evaluated which has led to this state."""

    element: str
    decision: str
    revision: int
    """The newest when it was evaluated."""
    rules: list[int]
    """The rules of its table that matched, from 1; of one that was evaluated several times, those of the last."""
    times: int


class InstanceState(TypedDict, total=False):
    kind: str
    epoch: int
    next: int
    status: str
    record: str
    size: int
    scopes: dict[str, ScopeRecord]
    tokens: dict[str, TokenRecord]
    items: dict[str, ItemRecord]
    tasks: dict[str, TaskRecord]
    timers: dict[str, TimerRecord]
    subscriptions: dict[str, SubscriptionRecord]
    conditions: dict[str, ConditionRecord]
    loops: dict[str, LoopRecord]
    undoing: dict[str, UndoRecord]
    compensations: list[CompensationEntry]
    decisions: list[DecisionNote]
    """Of the command that has led here alone: a later state does not repeat them."""


SECTIONS = ("scopes", "tokens", "items", "tasks", "timers", "subscriptions", "conditions", "loops", "undoing")


class Effect(TypedDict):
    id: str
    kind: str
    element: str
    name: NotRequired[str]
    inputs: Variables
    hops: NotRequired[int]
    """Of effects that are events: see `MAX_HOPS`."""
    generation: NotRequired[int]
    """Of the same: how many events have led to one another, itself among them."""


EVENTS = frozenset({"event", "throw", "signal"})
"""Effects that are events: they may lead to further commands."""


class Section(Generic[Record]):
    """The records of one kind by id, copied on the first write."""

    __slots__ = ("_is_copied", "owner_of", "records")

    def __init__(self, records: dict[str, Record] | None, owner_of: Callable[[Any], str | None]) -> None:
        self.records: dict[str, Record] = records if records is not None else {}
        self._is_copied = records is None
        self.owner_of = owner_of
        """Returns the id of the record that owns another one."""

    def __getitem__(self, key: str) -> Record:
        return self.records[key]

    def __contains__(self, key: str) -> bool:
        return key in self.records

    def __len__(self) -> int:
        return len(self.records)

    def get(self, key: str) -> Record | None:
        return self.records.get(key)

    def items(self) -> ItemsView[str, Record]:
        return self.records.items()

    def keys_in_order(self) -> list[str]:
        """Return the ids in the order of creation: a JSON store may have reordered the keys."""
        return sorted(self.records, key=sequence_number)

    def put(self, key: str, record: Record) -> None:
        self._copy()
        self.records[key] = record

    def pop(self, key: str) -> Record:
        self._copy()
        return self.records.pop(key)

    def _copy(self) -> None:
        # The initial state stays as it is: a command that fails later must leave nothing behind.
        if not self._is_copied:
            self.records = dict(self.records)
            self._is_copied = True


class CompensationLog:
    """The entries of completed activities by scope, in the order of their completion."""

    __slots__ = ("_by_scope", "_count", "_given", "_is_changed")

    def __init__(self, entries: list[CompensationEntry] | None) -> None:
        self._given = entries or []
        self._is_changed = False
        self._count = len(self._given)
        self._by_scope: dict[str, list[CompensationEntry]] = {}
        for entry in self._given:
            self._by_scope.setdefault(entry["scope"], []).append(entry)

    def __len__(self) -> int:
        return self._count

    def extend(self, entries: Iterable[CompensationEntry]) -> None:
        for entry in entries:
            self._by_scope.setdefault(entry["scope"], []).append(entry)
            self._count += 1
            self._is_changed = True

    def take(self, scope: str, element: str = "") -> list[CompensationEntry]:
        """Remove and return the entries of a scope, or those of one activity in it."""
        entries = self._by_scope.pop(scope, [])
        taken = [entry for entry in entries if element in ("", entry["element"])]
        if len(taken) < len(entries):
            self._by_scope[scope] = [entry for entry in entries if entry["element"] != element]
        if taken:
            self._is_changed = True
            self._count -= len(taken)
        return taken

    def entries(self) -> list[CompensationEntry]:
        if not self._is_changed:
            return self._given
        return [entry for entries in self._by_scope.values() for entry in entries]


def sequence_number(key: str) -> int:
    """Return the part of an id that counts up in the order of creation."""
    return int(key.partition(".")[2])
