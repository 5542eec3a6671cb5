"""Random cases: sketches of a plan, which are written as CMMN files, and random commands to them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from processes.workflows.engine.runner import InstanceState
from tests.processes.workflows.case_files import (
    Rule,
    case,
    case_task,
    human,
    listener,
    milestone,
    process_task,
    stage,
    timer,
)

ROOT = "plan"
NamedValues = Mapping[str, Any]
CONDITIONS: dict[str, Callable[[NamedValues], bool]] = {
    "x > 1": lambda names: (names.get("x") or 0) > 1,
    "x == 2": lambda names: names.get("x") == 2,
    "y": lambda names: bool(names.get("y")),
    "not y": lambda names: not names.get("y"),
}
RULES: tuple[Rule, ...] = (False, False, False, True, "x == 2", "y", "not y")
"""None that has no value while x is not there."""
ACTIVITY_EVENTS = (
    *("complete", "complete", "complete", "start", "create", "exit", "enable", "manualStart", "disable", "reenable"),
    *("suspend", "resume", "terminate", "parentSuspend", "parentResume"),
)
MOMENT_EVENTS = ("occur", "occur", "occur", "create", "suspend", "resume", "terminate", "parentTerminate")
FILE_EVENTS = ("create", "update", "delete")
OCCURRENCES = ("milestone", "listener", "timer")
LISTENERS = ("listener", "timer")


@dataclass(frozen=True)
class Sentry:
    on: tuple[tuple[str, str], ...] = ()
    """Source and event; a source of the case file begins with `file `."""
    condition: str = ""

    def __str__(self) -> str:
        parts = ", ".join(f"{source} {event}" for source, event in self.on)
        return f"{parts} if {self.condition}" if self.condition else parts


@dataclass(frozen=True)
class Sketch:
    """One item of a plan."""

    key: str
    kind: str
    parent: str
    entry: tuple[Sentry, ...] = ()
    exit: tuple[Sentry, ...] = ()
    manual: Rule = False
    repeats: Rule = False
    required: Rule = False
    auto: bool = False
    blocking: bool = True

    @property
    def criteria(self) -> list[tuple[str, Sentry]]:
        return [("entry", sentry) for sentry in self.entry] + [("exit", sentry) for sentry in self.exit]


@dataclass(frozen=True)
class RandomPlan:
    items: dict[str, Sketch]
    """By key, a stage before what lies in it; the case plan model first."""
    children: dict[str, list[str]] = field(init=False)

    def __post_init__(self) -> None:
        children: dict[str, list[str]] = {key: [] for key in self.items}
        for key, item in self.items.items():
            if key != ROOT:
                children[item.parent].append(key)
        object.__setattr__(self, "children", children)

    def written(self) -> str:
        root = self.items[ROOT]
        parts = [self._written(key) for key in self.children[ROOT]]
        return case(*parts, auto=root.auto, exit=[str(sentry) for sentry in root.exit], files=["x", "y"])

    def _written(self, key: str) -> str:
        item = self.items[key]
        common: dict[str, Any] = {
            "entry": [str(sentry) for sentry in item.entry],
            "exit": [str(sentry) for sentry in item.exit],
            "manual": item.manual,
            "repeats": item.repeats,
            "required": item.required,
        }
        if item.kind == "stage":
            return stage(key, *map(self._written, self.children[key]), auto=item.auto, **common)
        if item.kind == "human":
            return human(key, blocking=item.blocking, **common)
        return MAKERS[item.kind](key, **common)


MAKERS: dict[str, Callable[..., str]] = {
    "milestone": milestone,
    "listener": listener,
    "timer": lambda key, **common: timer(key, "PT1H", **common),
    "cycle": lambda key, **common: timer(key, "R5/PT1H", **common),
    "process": lambda key, **common: process_task(key, "work", **common),
    "case": lambda key, **common: case_task(key, "inner", **common),
}
SIMPLE = ("human", "human", "human", "stage", "stage", "milestone", "listener", "timer")
ALL = (*SIMPLE, "process", "case", "cycle")


def make_plan(random: Random, *, everything: bool = False) -> RandomPlan:
    """Make a plan; in a simple one no stage repeats and what repeats by its entry criteria has no exit criteria."""
    items = {ROOT: Sketch(ROOT, "plan", "", auto=random.random() < 0.3)}
    for number in range(1, random.randint(3, 9)):
        around = [key for key, item in items.items() if item.kind in ("plan", "stage") and _depth(items, key) < 3]
        key = f"I{number}"
        items[key] = Sketch(key, random.choice(ALL if everything else SIMPLE), random.choice(around))
    for key in items:
        items[key] = _with_rules(random, items, key, everything=everything)
    if random.random() < 0.8:
        items["Keep"] = Sketch("Keep", "human", ROOT, required=True)
    return RandomPlan(items)


def _depth(items: dict[str, Sketch], key: str) -> int:
    return 0 if key == ROOT else 1 + _depth(items, items[key].parent)


def _with_rules(random: Random, items: dict[str, Sketch], key: str, *, everything: bool) -> Sketch:
    item = items[key]
    if item.kind in (*LISTENERS, "cycle"):
        return item
    if item.kind == "plan":
        return replace(item, exit=_sentries(random, items, (0, 0, 0, 0, 1)))
    entry = _sentries(random, items, (0, 0, 1, 1, 2))
    repeats = random.choice(RULES) if item.kind != "stage" or everything else False
    if item.kind == "milestone":
        return replace(item, entry=entry, repeats=repeats if entry else False, required=random.choice(RULES))
    may_leave = everything or not (entry and repeats)
    return replace(
        item,
        entry=entry,
        exit=_sentries(random, items, (0, 0, 1)) if may_leave else (),
        repeats=repeats,
        required=random.choice(RULES),
        manual=random.choice(RULES),
        auto=item.kind == "stage" and random.random() < 0.5,
        blocking=item.kind != "human" or random.random() < 0.9,
    )


def _sentries(random: Random, items: dict[str, Sketch], numbers: tuple[int, ...]) -> tuple[Sentry, ...]:
    return tuple(_sentry(random, items) for _ in range(random.choice(numbers)))


def _sentry(random: Random, items: dict[str, Sketch]) -> Sentry:
    on = tuple(_on_part(random, items) for _ in range(random.choice((0, 1, 1, 1, 2))))
    conditions = tuple(CONDITIONS) if not on else ("", "", *CONDITIONS)
    return Sentry(tuple(dict.fromkeys(on)), random.choice(conditions))


def _on_part(random: Random, items: dict[str, Sketch]) -> tuple[str, str]:
    source = random.choice([*list(items)[1:], "file x", "file y"])
    if source.startswith("file "):
        return source, random.choice(FILE_EVENTS)
    is_moment = items[source].kind in (*OCCURRENCES, "cycle")
    return source, random.choice(MOMENT_EVENTS if is_moment else ACTIVITY_EVENTS)


def choose_variables(random: Random) -> dict[str, Any]:
    return {name: random.choice((None, 1, 2, 3)) for name in ("x", "y") if random.random() < 0.5}


def choose_command(random: Random, state: InstanceState) -> dict[str, Any]:
    """Choose a command that an instance in this state may well take."""
    if state["status"] == "suspended":
        return {"command": random.choice(("resume",) * 6 + ("set_variables", "set_variables", "terminate", "close"))}
    kind = random.choice(("task",) * 4 + ("item",) * 8 + ("timer", "set", "set", "case"))
    tasks, timers = list(state.get("tasks", {})), list(state.get("timers", {}))
    if len(tasks) > 1:
        tasks = [key for key in tasks if state["tasks"][key]["element"] != "Keep"]
    if kind == "task" and tasks:
        variables = {**choose_variables(random), "ok": random.random() < 0.6}
        return {"command": "complete_task", "task": random.choice(tasks), "variables": variables}
    if kind == "timer" and timers:
        return {"command": "fire_timer", "timer": random.choice(timers)}
    if kind == "set":
        return {"command": "set_variables", "variables": choose_variables(random)}
    spared = (ROOT, "Keep") if random.random() < 0.95 else ()
    records = state["items"].items()
    items = [key for key, record in records if record["state"] in FITTING and record["element"] not in spared]
    if kind == "case" or not items:
        return {"command": random.choice(("suspend",) * 12 + ("terminate", "close"))}
    item = random.choice(items)
    return {"command": random.choice(FITTING[state["items"][item]["state"]]), "item": item}


FITTING: dict[str, tuple[str, ...]] = {
    "available": ("occur", "occur", "occur", "suspend_item", "terminate_item"),
    "enabled": ("start", "start", "disable"),
    "disabled": ("reenable", "start"),
    "active": ("suspend_item", "terminate_item", "complete_item"),
    "suspended": ("resume_item", "resume_item", "terminate_item"),
}
