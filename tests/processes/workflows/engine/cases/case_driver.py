"""A driver of a case in memory: commands by the names of plan items, a clock set by hand."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from processes.workflows.engine.definition import Definition
from processes.workflows.engine.execution.records import InstanceState, sequence_number
from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.runner import CommandOutcome, run_command
from tests.processes.workflows.case_files import case

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


class CaseDriver:
    """One instance of a case and everything that happened in it."""

    def __init__(self, source: str, *more: str, variables: Mapping[str, Any] | None = None) -> None:
        definitions = [parse_definition(text.encode()) for text in (source, *more)]
        self.definitions = {definition.key: definition for definition in definitions}
        self.now = START
        self.trace: list[tuple[str, str]] = []
        begin = {"command": "start", "definition": [definitions[0].key, 1], "variables": dict(variables or {})}
        self.state: InstanceState = self._run(None, begin)

    @classmethod
    def of(cls, *parts: str, given: Mapping[str, Any] | None = None, **whole: Any) -> Self:
        return cls(case(*parts, **whole), variables=given)

    def library(self, key: str, revision: int | str | None) -> tuple[Definition, int]:
        if key not in self.definitions:
            raise LookupError(key)
        assert not isinstance(revision, str)
        return self.definitions[key], revision or 1

    def do(self, command: str, **more: Any) -> Self:
        self.state = self._run(self.state, {"command": command, **more})
        return self

    def item(self, command: str, element: str) -> Self:
        """Give a command to the newest item of that name."""
        return self.do(command, item=self.key(element))

    def complete(self, element: str, **variables: Any) -> Self:
        tasks = self.state.get("tasks", {})
        task = next(key for key in sorted(tasks, key=sequence_number) if tasks[key]["element"] == element)
        return self.do("complete_task", task=task, variables=variables)

    def set(self, **variables: Any) -> Self:
        return self.do("set_variables", variables=variables)

    def fire(self, element: str) -> Self:
        """Let the time come for a timer, and fire it."""
        timers = self.state.get("timers", {})
        key = next(key for key in sorted(timers, key=sequence_number) if timers[key]["element"] == element)
        self.now = max(self.now, datetime.fromisoformat(timers[key]["due"]))
        return self.do("fire_timer", timer=key)

    def wait(self, **time: float) -> Self:
        self.now += timedelta(**time)
        return self

    def key(self, element: str) -> str:
        return self.keys(element)[-1]

    def keys(self, element: str) -> list[str]:
        items = self.state.get("items", {})
        return [key for key in sorted(items, key=sequence_number) if items[key]["element"] == element]

    def states(self, *elements: str) -> list[str]:
        """Give the states of all items of these names, in the order of creation."""
        return [self.state["items"][key]["state"] for element in elements for key in self.keys(element)]

    @property
    def plan(self) -> dict[str, str]:
        """The state of every item but the plan itself, the newest of a name."""
        items = self.state.get("items", {})
        return {items[key]["element"]: items[key]["state"] for key in sorted(items, key=sequence_number)[1:]}

    @property
    def status(self) -> str:
        return self.state["status"]

    @property
    def tasks(self) -> list[str]:
        tasks = self.state.get("tasks", {})
        return [tasks[key]["element"] for key in sorted(tasks, key=sequence_number)]

    @property
    def variables(self) -> dict[str, Any]:
        return next(scope["variables"] for scope in self.state["scopes"].values() if scope["token"] is None)

    def _run(self, state: InstanceState | None, command: Mapping[str, Any]) -> InstanceState:
        outcome: CommandOutcome = run_command(self.library, state, command, self.now)
        self.trace += outcome.trace
        return outcome.state
