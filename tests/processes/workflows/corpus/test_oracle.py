"""SpiffWorkflow, given the same files and commands, goes the same way; with a table of what it does otherwise."""

import pytest
from lxml import etree
from SpiffWorkflow.bpmn.parser.BpmnParser import BpmnValidator
from SpiffWorkflow.exceptions import SpiffWorkflowException

from processes.workflows.engine.definition import Definition, Node, NodeKind
from tests.processes.workflows.corpus.oracle import Oracle
from tests.processes.workflows.corpus.player import Player, read_definition
from tests.processes.workflows.corpus.script import FOLDER, Script, ScriptStep, read_keys, read_scripts

# By a reason: files, or single scripts of a file. Each of them is tried, and has to come out differently.
OTHERWISE = {
    "It knows no compensation.": (
        "compensation-after-an-error",
        "compensation-at-the-end",
        "compensation-by-a-sub-process",
        "compensation-from-an-event-sub-process",
        "compensation-in-reverse-order",
        "compensation-not-of-what-was-interrupted",
        "compensation-of-a-sub-process",
        "compensation-of-nothing",
        "compensation-of-one-activity",
        "compensation-of-rounds",
        "compensation-of-what-is-done-alone",
    ),
    "It looks at a condition when it comes to it, not when variables change; none is set from outside.": (
        "boundary-condition-interrupting: it comes to hold",
        "boundary-condition-non-interrupting",
        "catch-condition",
        "event-gateway-with-condition: the condition comes true",
        "event-gateway-with-condition: it holds from the beginning",
        "event-sub-process-at-once: hot already",
        "event-sub-process-condition",
    ),
    "An event sub-process does not interrupt what it lies in, and one for an error begins at once.": (
        "event-sub-process-error",
        "event-sub-process-error-in-process",
        "event-sub-process-message: it takes over",
        "event-sub-process-signal: stopped",
        "event-sub-process-timer",
    ),
    "A cycle is one event that is over with its last time, and begins no instances.": (
        "boundary-timer-cycle",
        "boundary-timer-cycle-from-a-date",
        "camunda7-escalation: two reminders, then the limit",
        "event-sub-process-timer-cycle",
        "start-by-timer: each night",
    ),
    "A boundary event that does not interrupt catches once.": (
        "boundary-message-non-interrupting: twice",
        "boundary-signal-non-interrupting: twice",
    ),
    "What an error leaves is completed none the less, and everything that fits catches it.": (
        "boundary-error-by-code: the code that is named",
        "call-activity-error: caught",
        "error-goes-outwards: caught outside",
        "multi-instance-error-in-a-round: the second is bad",
    ),
    "A message reaches everything that waits for it; by the standard one.": ("catch-message-twice",),
    "Its end events throw no signals.": ("end-by-signal: what waits in the instance hears it",),
    "Several flows cannot leave a task.": ("flow-conditions-at-a-task", "flow-implicit-split-and-merge"),
    "The second time it is passed, a parallel join does not wait for every flow.": ("parallel-join-in-a-loop",),
    "A throw event is completed before its signal interrupts what it lies in; either is right.": (
        "throw-signal-out-of-a-sub-process",
    ),
    "It has no counters of rounds.": ("multi-instance-cardinality-sequential", "multi-instance-completion-condition"),
    "An item may not have the name of a variable, and is left behind as one.": (
        "call-activity-for-each",
        "multi-instance-until-found",
        "variables-in-scopes",
    ),
    "Results of rounds are gathered as they come; by the standard in the order of the items.": (
        "multi-instance-parallel: whatever the order of the answers",
        "multi-instance-sub-process",
    ),
    "Python looks for attributes where this language looks into maps.": ("script-expressions",),
    "A number is no duration.": ("catch-timer-by-expression: seconds",),
    "What is called has to be there when the file is read.": ("call-activity-unknown",),
    "It is not suspended.": ("suspended-and-resumed",),
    "It goes on for ever, if it can be read at all.": ("too-many-steps",),
}
EXCUSED = {name for names in OTHERWISE.values() for name in names}
# Nothing happens in a script whose start is refused.
SCRIPTS = [script for script in read_scripts() if not script.steps[0].expected.failure]


def _is_excused(script: Script) -> bool:
    return script.key in EXCUSED or str(script) in EXCUSED


SAME = [script for script in SCRIPTS if not _is_excused(script)]


class TestOracle:
    @pytest.mark.parametrize("key", sorted({script.key for script in SAME}))
    def test_goes_the_same_way(self, key: str) -> None:
        for script in SAME:
            if script.key == key:
                assert_same_way(script)

    @pytest.mark.parametrize("reason", OTHERWISE)
    def test_does_otherwise_what_the_table_says(self, reason: str) -> None:
        names = OTHERWISE[reason]
        for script in SCRIPTS:
            if script.key in names or str(script) in names:
                with pytest.raises((AssertionError, SpiffWorkflowException, AttributeError, KeyError, OSError)):
                    assert_same_way(script)

    def test_the_table_names_scripts_of_the_corpus(self) -> None:
        assert {script.key for script in SCRIPTS} | {str(script) for script in SCRIPTS} >= EXCUSED

    def test_most_files_are_compared(self) -> None:
        assert len({script.key for script in SAME}) >= 80


class TestSchema:
    def test_the_files_are_valid_by_the_schema_of_the_standard(self) -> None:
        schema = BpmnValidator().validator
        files = {key: etree.parse(FOLDER / "files" / f"{key}.bpmn") for key in read_keys()}
        assert [key for key, file in files.items() if not schema.validate(file)] == []


def assert_same_way(script: Script) -> None:
    player, oracle = Player(script.key), Oracle(script.key, script.steps[0].command.mark)
    for step in script.steps:
        if not step.expected.failure:
            _assert_same_step(player, oracle, step)


def _assert_same_step(player: Player, oracle: Oracle, step: ScriptStep) -> None:
    ours = player.play(step.command).left
    theirs = oracle.play(step.command, player.at)
    if not _goes_one_way(read_definition(player.key)):  # the order of what runs at once is nobody's business
        ours, theirs = sorted(ours), sorted(theirs)
    assert theirs == ours, step.line
    assert oracle.open_tasks() == _open_tasks(player), step.line
    assert oracle.is_completed() == (player.state["status"] != "active"), step.line
    if oracle.is_completed() and step.expected.variables is not None:
        assert oracle.variables() == player.variables(), step.line


def _open_tasks(player: Player) -> list[str]:
    tasks = player.state.get("tasks", {}).values()
    return sorted(task["element"] for task in tasks if task["kind"] != "receive")


def _goes_one_way(definition: Definition) -> bool:
    """Tell whether there is never more than one token."""
    return not any(_splits(node) for node in definition.nodes.values())


def _splits(node: Node) -> bool:
    if node.kind in (NodeKind.PARALLEL, NodeKind.INCLUSIVE) or not node.is_interrupting:
        return True
    if node.loop is not None and not node.loop.is_sequential:
        return True
    return len(node.outgoing) > 1 and node.kind not in (NodeKind.EXCLUSIVE, NodeKind.EVENT_BASED)
