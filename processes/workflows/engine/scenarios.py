"""Scenarios: what a definition is expected to do, played in memory against its file.

A scenario starts an instance, plays its steps one after the other and compares. Time passes only by a step that says
so; what is thrown to the world outside goes nowhere, and what comes from there is a step.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from processes.workflows.engine.definition import Definition
from processes.workflows.engine.dmn.evaluation import EvaluationFailed
from processes.workflows.engine.dmn.model import DecisionModel
from processes.workflows.engine.dmn.scenarios import check_decision, find_different_values, list_rules
from processes.workflows.engine.execution.errors import CommandFailed, CommandRejected
from processes.workflows.engine.execution.records import Library
from processes.workflows.engine.iso import NotIso, parse_duration
from processes.workflows.engine.runner import InstanceState, run_command
from processes.workflows.engine.state_queries import get_variables

BEGIN = datetime(2026, 1, 1, 9, tzinfo=UTC)
"""Where nothing else is said: a Thursday, so that dates in expected values stay what they are."""
MOST_STEPS = 500
MOST_TIMERS = 1000
"""That may fall due within one scenario."""


class WrongScenario(Exception):
    """A scenario says what nobody can play."""


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    steps: Sequence[Mapping[str, Any]]
    variables: Mapping[str, Any] = field(default_factory=dict)
    record: str = ""
    start: str | None = None
    """The start event, where it is not the one without a trigger."""


@dataclass(slots=True)
class Played:
    """What came of a scenario."""

    name: str
    failures: list[str] = field(default_factory=list)
    path: list[str] = field(default_factory=list)
    """The elements that were entered, in order."""

    @property
    def is_passed(self) -> bool:
        return not self.failures


def play_scenario(scenario: Scenario, definition: Definition, library: Library) -> Played:
    """Play a scenario to its end, or to the first step that cannot be done."""
    if definition.decision is not None:
        return _play_decision(scenario, definition.decision)
    player = _Player(definition, library, Played(scenario.name))
    try:
        player.start(scenario)
        for number, step in enumerate(scenario.steps[:MOST_STEPS], start=1):
            player.played.failures += [f"Step {number}: {failure}" for failure in player.play(step)]
    except (CommandRejected, CommandFailed, WrongScenario) as refusal:
        player.played.failures.append(str(getattr(refusal, "reason", refusal)))
    return player.played


def find_uncovered(definition: Definition, played: Sequence[Played]) -> list[str]:
    """Return the elements that no scenario enters."""
    entered = {element for each in played for element in each.path}
    return [key for key in list_coverable(definition) if key not in entered]


def list_coverable(definition: Definition) -> list[str]:
    """Return what scenarios may enter: the elements of a process or case, the rules of a decision's table."""
    return list_rules(definition.decision) if definition.decision is not None else list(definition.nodes)


def _play_decision(scenario: Scenario, model: DecisionModel) -> Played:
    played = Played(scenario.name)
    try:
        played.path, played.failures = check_decision(model, scenario.variables, scenario.steps, at=BEGIN)
    except EvaluationFailed as failed:
        played.failures.append(failed.reason)
    return played


class _Player:
    def __init__(self, definition: Definition, library: Library, played: Played) -> None:
        self.played = played
        self._definition = definition
        self._others = library
        self._at = BEGIN
        self._state: InstanceState | None = None
        self._timers = 0

    def start(self, scenario: Scenario) -> None:
        more = {"start": scenario.start} if scenario.start else {}
        definition = [self._definition.key, 0]
        self._do("start", definition=definition, record=scenario.record, variables=dict(scenario.variables), **more)

    def play(self, step: Mapping[str, Any]) -> Iterator[str]:
        """Do a step; yield what is not as it expects."""
        given = {name: step[name] for name in ("variables",) if name in step}
        match step:
            case {"complete": element}:
                self._do("complete_task", task=self._find("tasks", element, "open task"), **given)
            case {"work": element, "error": {"code": code}}:
                task = self._find("tasks", element, "open work")
                self._do("fail_job", task=task, code=str(code), error=str(step["error"].get("message", "")), **given)
            case {"work": element}:
                self._do("complete_job", task=self._find("tasks", element, "open work"), **given)
            case {"message": name}:
                self._do("send_message", name=name, **given)
            case {"event": name}:
                self._deliver(str(name), step.get("payload"))
            case {"wait": duration}:
                self._wait(str(duration))
            case {"item": element, "command": command}:
                self._do(str(command), item=self._find("items", element, "item"), **given)
            case {"expect": expected} if isinstance(expected, Mapping):
                yield from self._compare(expected)
            case _:
                raise WrongScenario(f"This step cannot be played: {json.dumps(dict(step), default=str)}"[:200])

    def _do(self, name: str, /, **more: Any) -> None:
        outcome = run_command(self._library, self._state, {"command": name, **more}, self._at)
        self._state = outcome.state
        self.played.path += [element for what, element in outcome.trace if what == "enter"]

    def _library(self, key: str, revision: int | str | None) -> tuple[Definition, int]:
        return (self._definition, 0) if key == self._definition.key else self._others(key, revision)

    def _find(self, part: str, element: str, what: str) -> str:
        for key, record in self._section(part).items():
            if record["element"] == element and record.get("state") not in ("completed", "terminated", "closed"):
                return key
        raise WrongScenario(f"There is no {what} at {element}.")

    def _deliver(self, name: str, payload: Any) -> None:
        waiting = [key for key, record in self._section("subscriptions").items() if record["name"] == name]
        if not waiting:
            raise WrongScenario(f"Nothing waits for the event {name}.")
        for key in waiting:
            if key in self._section("subscriptions"):  # an earlier one may have ended it
                self._do("event", subscription=key, payload=payload)

    def _wait(self, text: str) -> None:
        """Let time pass; whatever falls due meanwhile does so at its time."""
        try:
            until = parse_duration(text).after(self._at)
        except NotIso as error:
            raise WrongScenario(f"{text} is not a duration.") from error
        while due := min(self._due_timers(until), default=None):
            self._timers += 1
            if self._timers > MOST_TIMERS:
                raise WrongScenario(f"More than {MOST_TIMERS} timers fall due.")
            self._at = max(self._at, due[0])
            self._do("fire_timer", timer=due[1])
        self._at = until

    def _due_timers(self, until: datetime) -> Iterator[tuple[datetime, str]]:
        for key, record in self._section("timers").items():
            due = datetime.fromisoformat(record["due"])
            if due <= until:
                yield due, key

    def _section(self, part: str) -> dict[str, Any]:
        state: Any = self._state or {}
        return dict(state.get(part, {}))

    def _compare(self, expected: Mapping[str, Any]) -> Iterator[str]:
        status = (self._state or {}).get("status")
        if expected.get("status", status) != status:
            yield f"the instance is {status}, not {expected['status']}."
        if "path" in expected and list(expected["path"]) != self.played.path:
            yield f"it passed {', '.join(self.played.path)}."
        for element in expected.get("passes", ()):
            if element not in self.played.path:
                yield f"it did not pass {element}."
        for element in expected.get("avoids", ()):
            if element in self.played.path:
                yield f"it passed {element}."
        yield from find_different_values(get_variables(self._state or {}), expected.get("variables", {}))
        open_tasks = sorted(record["element"] for record in self._section("tasks").values())
        if "tasks" in expected and sorted(expected["tasks"]) != open_tasks:
            yield f"the open tasks are {', '.join(open_tasks)}." if open_tasks else "there are no open tasks."
