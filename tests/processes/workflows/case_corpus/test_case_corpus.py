"""Every case of the corpus does what its scripts say."""

import json
from functools import cache

import pytest

from processes.workflows.engine.case_plan import CriterionRole, PlanItem
from processes.workflows.engine.definition import CASE_KINDS, NodeKind, TimerKind
from processes.workflows.engine.runner import CommandFailed, CommandRejected
from tests.processes.workflows.case_corpus.player import CasePlayer, get_definition
from tests.processes.workflows.case_corpus.script import (
    FOLDER,
    ITEM_COMMANDS,
    CaseScript,
    CaseScriptStep,
    read_keys,
    read_scripts,
)

SCRIPTS = read_scripts()


class TestRunCommand:
    @pytest.mark.parametrize("key", sorted({script.key for script in SCRIPTS}))
    def test_does_what_the_scripts_say(self, key: str) -> None:
        for script in SCRIPTS:
            if script.key == key:
                assert_plays(script)


def assert_plays(script: CaseScript) -> None:
    player = CasePlayer(script.key)
    for step in script.steps:
        _assert_step(player, step)


def _assert_step(player: CasePlayer, step: CaseScriptStep) -> None:
    expected = step.expected
    if expected.failure:
        _assert_failure(player, step)
        return
    trace = player.play(step.command)
    if expected.is_open:
        return
    assert trace == list(expected.trace), step.line
    assert player.states() == list(expected.states), step.line
    assert player.waiting() == list(expected.waiting), step.line
    assert player.state["status"] == expected.status, step.line
    assert expected.variables is None or player.variables() == expected.variables, step.line


def _assert_failure(player: CasePlayer, step: CaseScriptStep) -> None:
    before = json.dumps(player.state)
    with pytest.raises((CommandFailed, CommandRejected)) as raised:
        player.play(step.command)
    failed = raised.value
    said = f"fails at {failed.element}" if isinstance(failed, CommandFailed) else "refused"
    assert said == step.expected.failure, step.line
    assert json.dumps(player.state) == before, step.line


class TestCorpus:
    def test_is_large_enough_and_each_case_has_a_script(self) -> None:
        assert len(read_keys()) >= 70
        assert set(read_keys()) <= {script.key for script in SCRIPTS} <= {*read_keys(), *read_keys("bpmn")}
        assert {path.stem for path in (FOLDER / "scripts").iterdir()} == {script.key for script in SCRIPTS}

    def test_the_file_is_named_like_its_case(self) -> None:
        for kind in ("cmmn", "bpmn"):
            assert [get_definition(key).key for key in read_keys(kind)] == read_keys(kind)

    def test_shows_every_element_and_rule_that_can_be_run(self) -> None:
        nodes = [node for key in read_keys() for node in get_definition(key).nodes.values()]
        assert {node.kind for node in nodes} == CASE_KINDS - {NodeKind.DECISION_TASK}
        assert {node.event.timer.kind for node in nodes if node.event and node.event.timer} == set(TimerKind)
        assert {criterion.role for item in _items() for criterion in item.criteria} == set(CriterionRole)
        for rule in ("manual_activation", "repetition", "required"):
            written = {None if (given := getattr(item, rule)) is None else bool(given.condition) for item in _items()}
            assert written == {None, True, False}
        assert {item.auto_completes for item in _items()} == {item.is_blocking for item in _items()} == {True, False}
        assert any(item.called_by for item in _items())

    def test_waits_for_every_standard_event(self) -> None:
        parts = {part for item in _items() for criterion in item.criteria for part in criterion.sentry.on}
        assert {part.event for part in parts if part.is_file} == FILE_EVENTS
        assert {part.event for part in parts if not part.is_file} == ITEM_EVENTS
        assert any(part.criterion for part in parts)

    def test_gives_every_command_and_sees_every_transition_and_state(self) -> None:
        steps = [step for script in SCRIPTS for step in script.steps]
        assert {step.command.name for step in steps} >= {*ITEM_COMMANDS, "suspend", "resume", "terminate", "close"}
        assert {what for step in steps for what, _ in step.expected.trace} >= ITEM_EVENTS | {"close"}
        assert {state for step in steps for _, state in step.expected.states} == STATES
        assert {step.expected.status for step in steps} == STATUSES


FILE_EVENTS = {"create", "update", "replace", "delete", "addChild", "removeChild"}
ITEM_EVENTS = {
    *("create", "enable", "start", "manualStart", "disable", "reenable", "complete", "suspend", "resume"),
    *("terminate", "fault", "exit", "occur", "parentSuspend", "parentResume", "parentTerminate"),
}
STATES = {"available", "enabled", "disabled", "active", "suspended", "completed", "terminated", "failed"}
STATUSES = {"active", "completed", "terminated", "suspended", "closed"}


@cache
def _items() -> list[PlanItem]:
    plans = [get_definition(key).plan for key in read_keys()]
    return [item for plan in plans if plan is not None for item in plan.items.values()]
