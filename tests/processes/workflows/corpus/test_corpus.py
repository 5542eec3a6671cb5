"""Every file of the corpus does what its scripts say."""

import json

import pytest

from processes.workflows.engine.definition import CASE_KINDS, NodeKind, TimerKind, Trigger
from processes.workflows.engine.runner import CommandFailed, CommandRejected, Effect
from tests.processes.workflows.corpus.player import CommandRecord, Player, read_definition
from tests.processes.workflows.corpus.script import (
    FOLDER,
    Expected,
    Script,
    ScriptStep,
    read_keys,
    read_scripts,
)

SCRIPTS = read_scripts()


class TestRunCommand:
    @pytest.mark.parametrize("key", read_keys())
    def test_does_what_the_scripts_say(self, key: str) -> None:
        for script in SCRIPTS:
            if script.key == key:
                assert_plays(script)


def assert_plays(script: Script) -> None:
    player = Player(script.key)
    for step in script.steps:
        assert_step(player, step)


def assert_step(player: Player, step: ScriptStep) -> None:
    expected = step.expected
    if expected.failure:
        _assert_failure(player, step)
        return
    happened = player.play(step.command)
    assert happened.left == list(expected.left), step.line
    assert sorted(happened.cancelled) == list(expected.cancelled), step.line
    assert player.waiting() == list(expected.waiting), step.line
    assert player.state["status"] == expected.status, step.line
    assert expected.variables is None or player.variables() == expected.variables, step.line
    _compare_effects(happened, expected, step.line)


def _assert_failure(player: Player, step: ScriptStep) -> None:
    before = json.dumps(player.state)
    with pytest.raises((CommandFailed, CommandRejected)) as raised:
        player.play(step.command)
    failed = raised.value
    said = f"fails at {failed.element}" if isinstance(failed, CommandFailed) else "refused"
    assert said == step.expected.failure or (said.startswith("fails") and step.expected.failure == "fails"), step.line
    assert json.dumps(player.state) == before, step.line


def _compare_effects(happened: CommandRecord, expected: Expected, line: str) -> None:
    pairs = zip(happened.effects, expected.effects, strict=False)
    said = [_describe(effect, with_inputs="{" in wanted) for effect, wanted in pairs]
    assert said == list(expected.effects), line
    assert len(happened.effects) == len(expected.effects), line


def _describe(effect: Effect, *, with_inputs: bool) -> str:
    inputs = json.dumps(effect["inputs"], separators=(",", ":")) if with_inputs else ""
    return f"{effect['kind']}:{effect.get('name') or effect['element']}{inputs}"


class TestCorpus:
    def test_is_large_enough_and_each_file_has_a_script(self) -> None:
        keys = read_keys()
        assert len(keys) >= 60
        assert {script.key for script in SCRIPTS} == set(keys)
        assert {path.stem for path in (FOLDER / "scripts").iterdir()} == set(keys)

    def test_shows_every_element_that_can_be_run(self) -> None:
        nodes = [node for key in read_keys() for node in read_definition(key).nodes.values()]
        starts = {Trigger.NONE, *WAITING}
        assert {node.kind for node in nodes} == set(NodeKind) - CASE_KINDS - {NodeKind.BUSINESS_RULE_TASK}
        assert _triggers(NodeKind.START) == starts | {Trigger.ERROR}
        assert _triggers(NodeKind.END) == ENDS
        assert _triggers(NodeKind.CATCH) == set(WAITING)
        assert _triggers(NodeKind.THROW) >= {Trigger.NONE, Trigger.MESSAGE, Trigger.SIGNAL, Trigger.COMPENSATION}
        assert _triggers(NodeKind.BOUNDARY, is_interrupting=True) >= {*WAITING, Trigger.ERROR}
        assert _triggers(NodeKind.BOUNDARY, is_interrupting=False) == set(WAITING)
        assert {node.event.timer.kind for node in nodes if node.event and node.event.timer} == set(TimerKind)

    def test_shows_loops_of_every_kind(self) -> None:
        loops = [node.loop for key in read_keys() for node in read_definition(key).nodes.values() if node.loop]
        several = [loop for loop in loops if loop.is_multi_instance]
        assert {loop.is_sequential for loop in several if loop.collection} == {True, False}
        assert {loop.is_sequential for loop in several if loop.cardinality} == {True, False}
        assert {loop.is_sequential for loop in several if loop.completion} == {True, False}
        assert {loop.tests_before for loop in loops if not loop.is_multi_instance} == {True, False}


WAITING = (Trigger.MESSAGE, Trigger.SIGNAL, Trigger.TIMER, Trigger.CONDITION)
ENDS = {Trigger.NONE, Trigger.ERROR, Trigger.SIGNAL, Trigger.MESSAGE, Trigger.TERMINATE, Trigger.COMPENSATION}


def _triggers(kind: NodeKind, *, is_interrupting: bool | None = None) -> set[Trigger]:
    nodes = [node for key in read_keys() for node in read_definition(key).nodes.values() if node.kind is kind]
    wanted = [node for node in nodes if is_interrupting in (None, node.is_interrupting)]
    return {node.event.trigger for node in wanted if node.event is not None}
