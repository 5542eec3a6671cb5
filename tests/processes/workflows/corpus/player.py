"""Plays the scripts of the corpus with the engine alone."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from typing import Any

from processes.workflows.engine.bpmn.parser import parse_bpmn
from processes.workflows.engine.definition import Definition
from processes.workflows.engine.runner import CommandOutcome, Effect, InstanceState, run_command
from tests.processes.workflows.corpus.script import FOLDER, Command

BEGIN = datetime(2030, 1, 1, tzinfo=UTC)


@cache
def read_definition(key: str) -> Definition:
    return parse_bpmn((FOLDER / "files" / f"{key}.bpmn").read_bytes())


def library(key: str, revision: int | str | None) -> tuple[Definition, int]:
    if not (FOLDER / "files" / f"{key}.bpmn").exists():
        raise LookupError(key)
    return read_definition(key), 1


@dataclass
class CommandRecord:
    left: list[str] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)

    def add(self, outcome: CommandOutcome) -> None:
        self.left += [element for what, element in outcome.trace if what == "leave"]
        self.cancelled += [element for what, element in outcome.trace if what == "cancel"]
        self.effects += outcome.effects


class Player:
    """One instance of a process of the corpus. Its state goes through JSON after every command."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.state: InstanceState | None = None
        self.at = BEGIN

    def play(self, command: Command) -> CommandRecord:
        happened = CommandRecord()
        for engine_command in self._translate(command):
            outcome = run_command(library, self.state, engine_command, self.at)
            self.state = json.loads(json.dumps(outcome.state, allow_nan=False))
            happened.add(outcome)
        return happened

    def waiting(self) -> list[str]:
        """Give what is waited for; a task and the message it receives are one thing."""
        state: dict[str, Any] = dict(self.state or {})
        open_records = {
            (record["element"], record["token"] or record["scope"])
            for section in ("tasks", "timers", "subscriptions", "conditions")
            for record in state.get(section, {}).values()
        }
        at_joins = [token["element"] for token in state.get("tokens", {}).values() if "flow" in token]
        return sorted([element for element, _ in open_records] + at_joins)

    def variables(self) -> dict[str, Any]:
        return next(scope["variables"] for scope in self.state["scopes"].values() if scope["token"] is None)

    def _translate(self, command: Command) -> list[dict[str, Any]]:
        """Give the engine's commands for one of a script: a signal is one for everything that waits for it."""
        variables = dict(command.variables)
        if command.name == "start":
            start = {"command": "start", "definition": [self.key, 1], "record": "", "variables": variables}
            return [{**start, "start": command.mark} if command.mark else start]
        if command.name == "signal":
            waiting = [key for key, record in self._open("subscriptions") if record["name"] == command.target]
            return [{"command": "event", "subscription": key, "payload": variables} for key in waiting]
        if command.name == "message":
            return [{"command": "send_message", "name": command.target, "variables": variables}]
        if command.name == "timer":
            return [self._fire(command)]
        if command.name in ("complete", "fail"):
            return [self._work(command, variables)]
        return [{"command": {"set": "set_variables"}.get(command.name, command.name), "variables": variables}]

    def _fire(self, command: Command) -> dict[str, Any]:
        key, record = next(found for found in self._open("timers") if found[1]["element"] == command.target)
        due = datetime.fromisoformat(record["due"])
        if command.mark:
            assert due == datetime.fromisoformat(command.mark).replace(tzinfo=UTC)
        self.at = due
        return {"command": "fire_timer", "timer": key}

    def _work(self, command: Command, variables: dict[str, Any]) -> dict[str, Any]:
        tasks = [found for found in self._open("tasks") if found[1]["element"] == command.target]
        key, record = tasks[int(command.mark or 1) - 1] if tasks else ("none", {"kind": "user"})
        if command.name == "fail":
            return {"command": "fail_job", "task": key, "error": "The work failed.", **variables}
        is_job = record["kind"] in ("external", "job")
        return {"command": "complete_job" if is_job else "complete_task", "task": key, "variables": variables}

    def _open(self, section: str) -> list[tuple[str, dict[str, Any]]]:
        records: dict[str, dict[str, Any]] = dict(self.state or {}).get(section, {})  # type: ignore[assignment]
        return sorted(records.items(), key=lambda found: int(found[0].partition(".")[2]))
