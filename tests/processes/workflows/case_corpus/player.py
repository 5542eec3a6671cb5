"""Plays the scripts of the corpus of cases with the engine alone."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

from processes.workflows.engine.definition import Definition
from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.runner import InstanceState, run_command
from tests.processes.workflows.case_corpus.script import FOLDER, ITEM_COMMANDS
from tests.processes.workflows.corpus.script import Command

BEGIN = datetime(2030, 1, 1, tzinfo=UTC)
Record = dict[str, Any]


@cache
def get_definition(key: str) -> Definition:
    for kind in ("cmmn", "bpmn"):
        path = FOLDER / "files" / f"{key}.{kind}"
        if path.exists():
            return parse_definition(path.read_bytes())
    raise LookupError(key)


def library(key: str, revision: int | str | None) -> tuple[Definition, int]:
    return get_definition(key), 1


class CasePlayer:
    """One instance of a case, or of a process, of the corpus. Its state goes through JSON after every command."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.state: InstanceState = {}
        self.at = BEGIN

    def play(self, command: Command) -> list[tuple[str, str]]:
        """Carry out a command; give what happened, but not what was entered."""
        outcome = run_command(library, self.state or None, self.translate(command), self.at)
        self.state = json.loads(json.dumps(outcome.state, allow_nan=False))
        return [(what, element) for what, element in outcome.trace if what != "enter"]

    def waiting(self) -> list[str]:
        return sorted(record["element"] for section in ("tasks", "timers") for _, record in self._open(section))

    def states(self) -> list[tuple[str, str]]:
        """Give the items with their states, but not the plan, which is what the case is."""
        plan = get_definition(self.key).plan
        items = [(record["element"], record["state"]) for _, record in self._open("items")]
        return sorted(item for item in items if plan is None or item[0] != plan.root)

    def variables(self) -> dict[str, Any]:
        return next(scope["variables"] for scope in self.state["scopes"].values() if scope["token"] is None)

    def translate(self, command: Command) -> Mapping[str, Any]:
        """Give the engine's command for one of a script."""
        variables = dict(command.variables)
        if command.name == "start" and not command.target:
            return {"command": "start", "definition": [self.key, 1], "record": "", "variables": variables}
        if command.name == "message":
            return {"command": "send_message", "name": command.target, "variables": variables}
        if command.name == "timer":
            return self._fire(command)
        if command.name == "complete":
            return {"command": "complete_task", "task": self._find("tasks", command, 0), "variables": variables}
        if command.name in ITEM_COMMANDS:
            return {"command": command.name, "item": self._find("items", command, -1)}
        return {"command": {"set": "set_variables"}.get(command.name, command.name), "variables": variables}

    def _fire(self, command: Command) -> Record:
        key, record = next(found for found in self._open("timers") if found[1]["element"] == command.target)
        due = datetime.fromisoformat(record["due"])
        if command.mark:
            assert due == datetime.fromisoformat(command.mark).replace(tzinfo=UTC)
        self.at = max(self.at, due)
        return {"command": "fire_timer", "timer": key}

    def _find(self, section: str, command: Command, otherwise: int) -> str:
        found = [key for key, record in self._open(section) if record["element"] == command.target]
        return found[int(command.mark) - 1 if command.mark else otherwise] if found else "none"

    def _open(self, section: str) -> list[tuple[str, Record]]:
        records: dict[str, Record] = dict(self.state).get(section, {})  # type: ignore[assignment]
        return sorted(records.items(), key=lambda found: int(found[0].partition(".")[2]))
