"""Whatever is done to an instance, it stays whole: every file of the corpus, under commands in no order."""

import copy
import json
from datetime import timedelta
from random import Random
from typing import Any

import pytest

from processes.workflows.engine.runner import CommandFailed, CommandRejected, run_command
from tests.processes.workflows.corpus.player import BEGIN, library
from tests.processes.workflows.corpus.script import read_keys, read_scripts

SCRIPTS = read_scripts()
WALKS = 3
STEPS = 20
JUNK: tuple[Any, ...] = (None, True, 0, -1, 2.5, "x", [], [1, "a"], {}, {"a": {"b": 1}}, 10**9)


class TestRunCommand:
    @pytest.mark.parametrize("key", [key for key in read_keys() if key != "too-many-steps"])  # which takes its time
    def test_keeps_an_instance_whole(self, key: str) -> None:
        for walk in range(WALKS):
            assert_whole_on_a_walk(key, Random(f"{key} {walk}"))


def assert_whole_on_a_walk(key: str, random: Random) -> None:
    state: dict[str, Any] | None = None
    at = BEGIN
    for _ in range(STEPS):
        at += timedelta(minutes=random.randrange(100))
        if state is not None and "tokens" not in state and random.random() < 0.7:
            state = None  # it is over: another one
        command = choose_command(key, state, random)
        before = copy.deepcopy((state, command))
        try:
            outcome = run_command(library, state, command, at)  # type: ignore[arg-type]
        except (CommandRejected, CommandFailed):
            assert (state, command) == before
            continue
        assert (state, command) == before
        assert outcome == run_command(library, state, command, at)  # type: ignore[arg-type]
        state = json.loads(json.dumps(outcome.state, allow_nan=False))
        assert state == outcome.state
        _check(state)


def choose_command(key: str, state: dict[str, Any] | None, random: Random) -> dict[str, Any]:
    variables = _variables(key, random)
    if state is None:
        starts = [None, *library(key, 1)[0].starts.get(key, ())]
        start = {"command": "start", "definition": [key, 1], "record": "r", "variables": variables}
        return {**start, "start": random.choice(starts)}
    task = _any(state, "tasks", random)
    subscription = _any(state, "subscriptions", random)
    name = state.get("subscriptions", {}).get(subscription, {}).get("name", "unknown")
    jobs = ({"command": "complete_job", "task": task, "variables": variables}, _fail(task, random))
    return random.choice(
        [
            *[{"command": "complete_task", "task": task, "variables": variables}] * 4,
            *jobs * 2,
            *[{"command": "fire_timer", "timer": _any(state, "timers", random)}] * 2,
            {"command": "event", "subscription": subscription, "payload": random.choice([variables, *JUNK])},
            {"command": "send_message", "name": name, "variables": variables},
            {"command": "set_variables", "variables": variables},
            {"command": random.choice(["suspend", "resume", "resume", "terminate", "start", "unheard"])},
        ]
    )


def _variables(key: str, random: Random) -> dict[str, Any]:
    """Give variables that the scripts of the file know, mostly with values that they have there."""
    steps = [step for script in SCRIPTS if script.key == key for step in script.steps]
    known = [pair for step in steps for pair in step.command.variables if pair[0] != "code"]
    if random.random() < 0.3:
        known = [(name, random.choice(JUNK)) for name, _ in known]
    return dict(random.sample(known, random.randrange(len(known) + 1)))


def _any(state: dict[str, Any], section: str, random: Random) -> str:
    records: dict[str, Any] = state.get(section, {})
    return random.choice(list(records) or ["0.0"])


def _fail(task: str, random: Random) -> dict[str, Any]:
    code = random.choice([None, "NO_MONEY", "JAM", "DECLINED", "NO_SCORE"])
    return {"command": "fail_job", "task": task, "error": "no", "code": code}


def _check(state: dict[str, Any]) -> None:
    scopes, tokens = state["scopes"], state.get("tokens", {})
    assert (state["status"] in ("active", "suspended")) == bool(tokens)
    for section in ("tasks", "timers", "subscriptions", "conditions", "loops", "undoing"):
        for record in state.get(section, {}).values():
            assert record["scope"] in scopes
            assert record["token"] is None or record["token"] in tokens
    for scope in scopes.values():
        assert (scope["parent"] is None) == (scope["token"] is None)
        assert scope["parent"] is None or (scope["parent"] in scopes and scope["token"] in tokens)
    _check_tokens(state, tokens)


def _check_tokens(state: dict[str, Any], tokens: dict[str, Any]) -> None:
    """No token is lost: each waits at a join, or something is there that will let it go on."""
    sections = ("scopes", "tasks", "timers", "subscriptions", "conditions", "loops", "undoing")
    held = {record["token"] for section in sections for record in state.get(section, {}).values()}
    for key, token in tokens.items():
        assert token["scope"] in state["scopes"]
        assert "flow" in token or key in held, token
    filled = {token["scope"] for token in tokens.values()}
    undoing = {scope for scope, record in state["scopes"].items() if "undo" in record}
    assert not tokens or set(state["scopes"]) - undoing <= filled
