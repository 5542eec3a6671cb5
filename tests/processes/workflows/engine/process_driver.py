"""A driver of an instance in memory: it runs commands and checks what holds in every state."""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from processes.workflows.engine.definition import Definition
from processes.workflows.engine.execution.limits import estimate_size
from processes.workflows.engine.execution.records import CompensationEntry
from processes.workflows.engine.runner import CommandOutcome, Effect, InstanceState, run_command

START = datetime(2030, 1, 1, tzinfo=UTC)


class ProcessDriver:
    """An instance that runs; `trace` and `effects` are those of the last command."""

    def __init__(self, *definitions: Definition, start: str | None = None, **variables: Any) -> None:
        self.definitions = {definition.key: definition for definition in definitions}
        self.asked: list[tuple[str, int | str | None]] = []
        self.at = START
        self.state: InstanceState = None
        self.commands: list[tuple[dict[str, Any], datetime]] = []
        self.do("start", definition=[definitions[0].key, 1], record="r", variables=variables, start=start)

    def library(self, key: str, revision: int | str | None) -> tuple[Definition, int]:
        self.asked.append((key, revision))
        assert not isinstance(revision, str)
        return self.definitions[key], revision or 1

    def do(self, name: str, /, **more: Any) -> CommandOutcome:
        command = {"command": name, **more}
        before = json.dumps(self.state)
        outcome = run_command(self.library, self.state, command, self.at)
        assert json.dumps(self.state) == before, "the state that was given has changed"
        self.commands.append((command, self.at))
        self.state = json.loads(json.dumps(outcome.state))
        assert self.state == outcome.state
        self.trace = outcome.trace
        self.effects: tuple[Effect, ...] = outcome.effects
        check_state(self.state)
        return outcome

    def complete(self, element: str, **variables: Any) -> "ProcessDriver":
        task = self.task(element)
        waiting = self.state["tasks"][task]["kind"] in ("external", "job")
        self.do("complete_job" if waiting else "complete_task", task=task, variables=variables)
        return self

    def fire(self, element: str, after: timedelta = timedelta(0)) -> "ProcessDriver":
        self.at += after
        self.do("fire_timer", timer=self._only("timers", element))
        return self

    def send(self, name: str, **variables: Any) -> "ProcessDriver":
        self.do("send_message", name=name, variables=variables)
        return self

    def event(self, element: str, **payload: Any) -> "ProcessDriver":
        self.do("event", subscription=self._only("subscriptions", element), payload=payload)
        return self

    def task(self, element: str) -> str:
        """Give the oldest open task of an element."""
        return next(key for key, task in self.state["tasks"].items() if task["element"] == element)

    def _only(self, section: str, element: str) -> str:
        records: dict[str, Any] = self.state.get(section, {})  # type: ignore[assignment]
        [key] = [key for key, record in records.items() if record["element"] == element]
        return key

    @property
    def tasks(self) -> list[str]:
        return [task["element"] for task in self.state.get("tasks", {}).values()]

    @property
    def tokens(self) -> list[str]:
        return sorted(token["element"] for token in self.state.get("tokens", {}).values())

    @property
    def status(self) -> str:
        return self.state["status"]

    @property
    def variables(self) -> dict[str, Any]:
        return next(scope["variables"] for scope in self.state["scopes"].values() if scope["token"] is None)

    @property
    def walk(self) -> list[str]:
        """Give the elements the last command entered."""
        return [element for what, element in self.trace if what == "enter"]

    @property
    def cancelled(self) -> list[str]:
        return [element for what, element in self.trace if what == "cancel"]


def check_state(state: InstanceState) -> None:
    """Fail when something in a state belongs to nothing, is counted wrongly or outlives the end."""
    scopes, tokens = state["scopes"], state.get("tokens", {})
    for token in tokens.values():
        assert token["scope"] in scopes
    for section in ("tasks", "timers", "subscriptions", "conditions", "loops", "undoing", "scopes"):
        for record in state.get(section, {}).values():  # type: ignore[attr-defined]
            assert record["token"] is None or record["token"] in tokens, (section, record)
    for scope in scopes.values():
        assert scope["parent"] is None or scope["parent"] in scopes
    for entry in state.get("compensations", []):
        assert entry["scope"] in scopes
    _check_size(state)
    if state["status"] in ("completed", "terminated"):
        assert len(scopes) == 1
        assert not state.keys() & {"tokens", "tasks", "timers", "subscriptions", "conditions", "loops", "undoing"}


def measure_entries(entries: Iterable[CompensationEntry]) -> int:
    return sum(estimate_size(entry.get("variables", {})) + measure_entries(entry.get("inner", ())) for entry in entries)


def _check_size(state: InstanceState) -> None:
    size = sum(estimate_size(scope["variables"]) for scope in state["scopes"].values())
    size += sum(estimate_size(task.get("inputs", {})) for task in state.get("tasks", {}).values())
    size += sum(loop["weight"] + measure_entries(loop["entries"]) for loop in state.get("loops", {}).values())
    size += sum(measure_entries(undo["entries"]) for undo in state.get("undoing", {}).values())
    size += measure_entries(state.get("compensations", []))
    assert state["size"] == size
