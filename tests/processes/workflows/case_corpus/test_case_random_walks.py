"""Whatever is done to a case, it stays whole: every file of the corpus, under commands in no order."""

import json
from datetime import datetime, timedelta
from random import Random
from typing import Any

import pytest

from processes.workflows.engine.branch import branch_state
from processes.workflows.engine.execution.records import SECTIONS, sequence_number
from processes.workflows.engine.runner import CommandFailed, CommandRejected, InstanceState, run_command
from tests.processes.workflows.case_corpus.player import BEGIN, library
from tests.processes.workflows.case_corpus.script import read_scripts
from tests.processes.workflows.engine.cases.random_plans import choose_command
from tests.processes.workflows.engine.cases.state_invariants import StateInvariants

SCRIPTS = read_scripts()
WALKS = 3
STEPS = 20
ENDLESS = ("repetition-without-end",)


class TestRunCommand:
    @pytest.mark.parametrize("key", sorted({script.key for script in SCRIPTS} - set(ENDLESS)))
    def test_keeps_a_case_whole(self, key: str) -> None:
        for walk in range(WALKS):
            assert_whole_on_a_walk(key, Random(f"{key} {walk}"))


def assert_whole_on_a_walk(key: str, random: Random) -> None:
    """Go on with what came of each command, or with a return to it, which must lead to the same."""
    state: InstanceState | None = None
    at = BEGIN
    for _ in range(STEPS):
        command = _choose(key, state, random)
        at = _time_of(command, state, at + timedelta(minutes=random.randrange(20)))
        try:
            outcome = run_command(library, state, command, at)
        except (CommandRejected, CommandFailed):
            continue
        assert outcome == run_command(library, state, command, at)
        StateInvariants(library, outcome.state).check()
        state = json.loads(json.dumps(outcome.state, allow_nan=False))
        assert state == outcome.state
        if random.random() < 0.2:
            state = branch_state(library, outcome.state, epoch=outcome.state["epoch"] + 1, taken_at=at, at=at)
            StateInvariants(library, state).check()
            assert _numbers(state) == list(range(1, len(_numbers(state)) + 1))


def _choose(key: str, state: InstanceState | None, random: Random) -> dict[str, Any]:
    steps = [step for script in SCRIPTS if script.key == key for step in script.steps]
    known = [pair for step in steps for pair in step.command.variables]
    variables = dict(random.sample(known, random.randrange(len(known) + 1)))
    if state is None:
        return {"command": "start", "definition": [key, 1], "variables": variables}
    if state.get("subscriptions") and random.random() < 0.1:
        return {"command": "event", "subscription": random.choice(list(state["subscriptions"])), "payload": variables}
    command = choose_command(random, {"items": {}, **state})
    return {**command, "variables": variables} if "variables" in command else command


def _time_of(command: dict[str, Any], state: InstanceState | None, at: datetime) -> datetime:
    if state is None or command["command"] != "fire_timer":
        return at
    return max(at, datetime.fromisoformat(state["timers"][command["timer"]]["due"]))


def _numbers(state: InstanceState) -> list[int]:
    return sorted(sequence_number(key) for section in SECTIONS for key in state.get(section, {}))  # type: ignore[attr-defined]
