"""A reference model of cases: what CMMN makes of a simple plan, derived from the trace of an instance alone.

It follows each transition in the tables of the life cycle, remembers what every sentry has heard, and says when a
criterion was met, when a stage was complete and when another item had to come. The order in which things happen, where
the standard leaves it open, is taken from the trace.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.processes.workflows.case_files import Rule
from tests.processes.workflows.engine.cases.random_plans import (
    CONDITIONS,
    LISTENERS,
    OCCURRENCES,
    ROOT,
    NamedValues,
    RandomPlan,
    Sentry,
    Sketch,
)
from tests.processes.workflows.engine.cases.test_lifecycle import (
    CASES,
    MILESTONES_AND_LISTENERS,
    STAGES_AND_TASKS,
    read_table,
)

ENDED = ("completed", "terminated", "closed")
SETTLED = ("completed", "terminated", "disabled", "failed")
TABLES = {kind: read_table(MILESTONES_AND_LISTENERS) for kind in OCCURRENCES}
TABLES |= {"plan": read_table(CASES), "stage": read_table(STAGES_AND_TASKS), "human": read_table(STAGES_AND_TASKS)}


@dataclass(eq=False)
class ModelItem:
    """An instance of a plan item."""

    item: Sketch
    required: bool = False
    state: str = "available"
    before: str = ""
    heard: dict[int, set[int]] = field(default_factory=dict)
    held: set[int] = field(default_factory=set)
    due: set[int] = field(default_factory=set)
    """The criteria that were met and have not led to anything yet."""

    @property
    def is_live(self) -> bool:
        return self.state not in ENDED

    def listens(self, role: str) -> bool:
        if role == "entry":
            return self.state == "available"
        return self.is_live and self.state != "suspended"


class ReferenceModel:
    def __init__(self, plan: RandomPlan) -> None:
        self.plan = plan
        self.names: dict[str, Any] = {}
        self.ones: dict[str, list[ModelItem]] = {key: [] for key in plan.items}
        self.to_come: list[str] = []
        """Items that must come again."""
        self.passed_on: dict[str, set[int]] = {}
        self.resumed: list[ModelItem] = []
        self.meant: ModelItem | None = None
        self.is_by_hand = False

    def states(self) -> dict[str, list[str]]:
        """Give the states of what is live, in the order of creation."""
        return {key: [one.state for one in self.live(key)] for key in self.plan.items if self.live(key)}

    def live(self, element: str) -> list[ModelItem]:
        return [one for one in self.ones[element] if one.is_live]

    def follow(
        self,
        trace: Sequence[tuple[str, str]],
        written: NamedValues,
        meant: tuple[str, int] | None = None,
        *,
        is_by_hand: bool = False,
    ) -> None:
        """Follow what one command did: the variables it wrote, then the trace.

        `meant` names the item that it was given to, and which of those that are live.
        """
        self.meant = self.live(meant[0])[meant[1]] if meant is not None else None
        self.is_by_hand = is_by_hand
        before, self.names = self.names, {**self.names, **written}
        rest = list(trace)
        if rest[:1] == [("create", ROOT)]:
            rest = self._begin(rest[1:])
        self._write(before, written)
        while rest:
            rest = self._step(*rest[0], rest[1:])
        self._look_at_resumed()
        self._check_rest()

    def _begin(self, rest: list[tuple[str, str]]) -> list[tuple[str, str]]:
        root = self._put(ROOT)
        root.state = "active"
        self._look(root)
        return self._open(ROOT, rest)

    def _write(self, before: NamedValues, written: NamedValues) -> None:
        if self.ones[ROOT][0].state != "active":
            return
        for name in written:
            for event in _file_events(before.get(name), self.names[name]):
                self._tell(f"file {name}", event, None)
        for one in self._all_live():
            self._look(one)

    def _step(self, transition: str, element: str, rest: list[tuple[str, str]]) -> list[tuple[str, str]]:
        if transition not in ("resume", "parentResume"):
            self._look_at_resumed()
        if transition == "create":
            assert element in self.to_come, f"{element} came again"
            self.to_come.remove(element)
            self._tell(element, "create", self._put(element, self.passed_on.get(element, set())))
            return rest
        one = self._choose(transition, element)
        self._check_reason(one, transition)
        self._move(one, transition)
        self._tell(element, transition, one)
        self._note_repetition(one, transition)
        if transition in ("start", "manualStart") and one.item.kind == "stage":
            return self._open(element, rest)
        return rest

    def _choose(self, transition: str, element: str) -> ModelItem:
        """Find whose transition it was: the one that was meant, else the oldest that could make it."""
        meant, self.meant = self.meant, None
        if meant is not None and meant.item.key == element:
            return meant
        able = [one for one in self.live(element) if self._leads(one, transition) is not None]
        if transition == "parentResume":
            able = [one for one in able if one.before]
        if element == ROOT and transition == "close":
            able = self.ones[ROOT]
        assert able, f"nobody could {transition}: {element}"
        return able[0]

    def _leads(self, one: ModelItem, transition: str) -> str | None:
        return TABLES[one.item.kind][one.state, transition]

    def _check_reason(self, one: ModelItem, transition: str) -> None:
        item, parent = one.item, self._parent(one)
        assert self._leads(one, transition) is not None, f"{item.key} was {one.state}: {transition}"
        met = {item.criteria[place][0] for place in one.due}
        if transition in ("start", "enable") or (transition == "occur" and item.kind == "milestone"):
            assert not item.entry or "entry" in met, f"{item.key} began, but no criterion was met"
        if transition in ("start", "enable"):
            assert (transition == "enable") == self._applies(item.manual)
        if transition == "exit":
            assert "exit" in met or (parent is not None and not parent.is_live), f"{item.key} left"
        if transition == "complete" and item.kind in ("plan", "stage"):
            assert self._may_complete(one, by_hand=self.is_by_hand), f"{item.key} was not complete"
        if transition in ("parentSuspend", "parentResume"):
            assert parent is not None
            assert (parent.state == "suspended") == (transition == "parentSuspend")
        assert transition != "parentTerminate" or (parent is not None and not parent.is_live)

    def _move(self, one: ModelItem, transition: str) -> None:
        leads, was = self._leads(one, transition), one.state
        assert leads is not None
        one.state = one.before if leads == "before" else leads
        one.before = was if transition == "parentSuspend" else ""
        if was == "available" and one.item.entry:
            self.passed_on[one.item.key] = set(one.held)
            one.due = {place for place in one.due if one.item.criteria[place][0] != "entry"}
        if one.state == "suspended":
            one.due.clear()
        if not one.is_live:
            if not one.item.entry:
                self.passed_on[one.item.key] = set(one.held)
            one.due.clear()
        if transition in ("resume", "parentResume"):
            self.resumed.append(one)

    def _note_repetition(self, one: ModelItem, transition: str) -> None:
        item = one.item
        leaves = transition in ("start", "enable") or (transition == "occur" and item.kind == "milestone")
        parent = self._parent(one)
        ends = transition in ("complete", "terminate") and parent is not None and parent.is_live
        if (leaves if item.entry else ends and item.kind == "human") and self._applies(item.repeats):
            self.to_come.append(item.key)

    def _open(self, element: str, rest: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """Everything in a stage is created with it, before anybody hears of it."""
        children = self.plan.children[element]
        assert rest[: len(children)] == [("create", child) for child in children]
        for child, one in [(child, self._put(child)) for child in children]:
            self._tell(child, "create", one)
        return rest[len(children) :]

    def _put(self, element: str, held: Iterable[int] = ()) -> ModelItem:
        item = self.plan.items[element]
        one = ModelItem(item, required=self._applies(item.required), held=set(held))
        self.ones[element].append(one)
        self._look(one)
        return one

    def _tell(self, source: str, event: str, by: ModelItem | None) -> None:
        for one in self._all_live():
            for place, (role, sentry) in enumerate(one.item.criteria):
                if one is not by and (source, event) in sentry.on and one.listens(role):
                    one.heard.setdefault(place, set()).add(sentry.on.index((source, event)))
                    self._meet(one, place, sentry)

    def _look_at_resumed(self) -> None:
        for one in self.resumed:
            self._look(one)
        self.resumed.clear()

    def _look(self, one: ModelItem) -> None:
        for place, (role, sentry) in enumerate(one.item.criteria):
            if not sentry.condition or not one.listens(role):
                continue
            if sentry.on:
                self._meet(one, place, sentry)
            elif not CONDITIONS[sentry.condition](self.names):
                one.held.discard(place)
            elif place not in one.held:
                one.held.add(place)
                one.due.add(place)

    def _meet(self, one: ModelItem, place: int, sentry: Sentry) -> None:
        holds = not sentry.condition or CONDITIONS[sentry.condition](self.names)
        if holds and len(one.heard.get(place, ())) == len(sentry.on):
            one.heard.pop(place)
            one.due.add(place)

    def _check_rest(self) -> None:
        """When all has come to rest, nothing is left that had to happen."""
        assert not self.to_come, f"{self.to_come} did not come again"
        if self.ones[ROOT][0].state != "active":
            return
        for one in self._all_live():
            assert not one.due, f"{one.item.key} did nothing about a criterion that was met"
            if one.state == "active" and one.item.kind in ("plan", "stage"):
                assert not self._may_complete(one, by_hand=False), f"{one.item.key} did not complete"
            if one.state == "available" and not one.item.entry:
                assert one.item.kind in LISTENERS, f"{one.item.key} waits for nothing"

    def _may_complete(self, stage: ModelItem, *, by_hand: bool) -> bool:
        inside = [one for key in self.plan.children[stage.item.key] for one in self.ones[key]]
        inside = [one for one in inside if one.item.kind not in LISTENERS]
        if not stage.item.auto and not by_hand:
            return all(one.state in SETTLED for one in inside)
        return all(
            one.state not in ("active", "suspended") and (not one.required or one.state in SETTLED) for one in inside
        )

    def _parent(self, one: ModelItem) -> ModelItem | None:
        return self.ones[one.item.parent][-1] if one.item.parent else None

    def _applies(self, rule: Rule) -> bool:
        return rule if isinstance(rule, bool) else CONDITIONS[rule](self.names)

    def _all_live(self) -> list[ModelItem]:
        return [one for ones in self.ones.values() for one in ones if one.is_live]


def _file_events(before: Any, after: Any) -> list[str]:
    if before is None or after is None:
        return [] if before is after else ["create" if before is None else "delete"]
    return ["update"] if before != after else []
