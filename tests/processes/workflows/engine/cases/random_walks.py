"""A random case under random commands, and everything that came of them."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from processes.workflows.engine.definition import Definition
from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.runner import CommandFailed, CommandRejected, InstanceState, run_command
from tests.processes.workflows.engine.cases.case_driver import START
from tests.processes.workflows.engine.cases.cases_by_state import INNER, PROCESS
from tests.processes.workflows.engine.cases.random_plans import (
    RandomPlan,
    choose_command,
    choose_variables,
    make_plan,
)

CALLED = {definition.key: definition for definition in map(parse_definition, (PROCESS.encode(), INNER.encode()))}


@dataclass(frozen=True)
class WalkStep:
    command: dict[str, Any]
    at: datetime
    before: InstanceState | None
    after: InstanceState
    trace: tuple[tuple[str, str], ...]


@dataclass
class Walk:
    plan: RandomPlan
    definition: Definition
    steps: list[WalkStep] = field(default_factory=list)

    def library(self, key: str, revision: int | str | None) -> tuple[Definition, int]:
        return (self.definition if key == self.definition.key else CALLED[key]), 1


def walk(
    random: Random, visit: Callable[[Walk, WalkStep], None], *, everything: bool = False, length: int = 25
) -> Walk:
    """Begin a case and give it commands; `visit` sees each one that was done. What is refused changes nothing."""
    plan = make_plan(random, everything=everything)
    found = Walk(plan, parse_definition(plan.written().encode()))
    state: InstanceState | None = None
    at = START
    for number in range(length):
        command = choose_command(random, state) if state is not None else _start(random)
        at = _time_of(command, state, at) + timedelta(minutes=number)
        before = json.dumps(state)
        try:
            outcome = run_command(found.library, state, command, at)
        except (CommandRejected, CommandFailed):
            assert json.dumps(state) == before
            if state is None or state["status"] not in ("active", "suspended"):
                break
            continue
        assert json.dumps(state) == before
        step = WalkStep(command, at, state, outcome.state, outcome.trace)
        found.steps.append(step)
        visit(found, step)
        state = json.loads(json.dumps(outcome.state, allow_nan=False))
        assert state == outcome.state
    return found


def _start(random: Random) -> dict[str, Any]:
    return {"command": "start", "definition": ["case1", 1], "variables": choose_variables(random)}


def _time_of(command: dict[str, Any], state: InstanceState | None, at: datetime) -> datetime:
    """No timer is fired before its time."""
    if state is None or command["command"] != "fire_timer":
        return at
    return max(at, datetime.fromisoformat(state["timers"][command["timer"]]["due"]))
