"""Sub-processes inside one another, and calls of them: as deep as is allowed, and one deeper."""

from datetime import UTC, datetime
from typing import Any

import pytest

from processes.workflows.engine.bpmn.outline import MAX_NESTED
from processes.workflows.engine.definition import Definition
from processes.workflows.engine.execution.limits import MAX_SCOPES_DEEP
from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.problems import InvalidDefinition
from processes.workflows.engine.runner import CommandFailed, InstanceState, run_command
from tests.processes.workflows.process_files import flow, process

AT = datetime(2030, 1, 1, tzinfo=UTC)
ONCE = "<multiInstanceLoopCharacteristics><loopCardinality>1</loopCardinality></multiInstanceLoopCharacteristics>"
UNDO = (
    '<boundaryEvent id="undo" attachedToRef="t"><compensateEventDefinition/></boundaryEvent>'
    '<task id="undone" isForCompensation="true"/><association id="u" sourceRef="undo" targetRef="undone"/>'
)


def nested(depth: int, *, calls: bool = False, loop: str = "") -> bytes:
    """Sub-processes inside one another, with a task in the innermost that can be undone, and a call behind it."""
    ends = '<startEvent id="s0"/><endEvent id="e0"/>'
    inner = f'{ends}<userTask id="t"/>{UNDO}{flow("s0", "t")}'
    if calls:
        inner += f'<callActivity id="c" calledElement="deep"/>{flow("t", "c")}{flow("c", "e0")}'
    else:
        inner += flow("t", "e0")
    for level in range(1, depth + 1):
        start, end, sub = f"s{level}", f"e{level}", f"p{level}"
        ends = f'<startEvent id="{start}"/><endEvent id="{end}"/>{flow(start, sub)}{flow(sub, end)}'
        inner = f'{ends}\n<subProcess id="{sub}">{inner}{loop}</subProcess>'
    return process("deep", inner)


class Instance:
    def __init__(self, source: bytes) -> None:
        self.definition = parse_definition(source)
        self.state: InstanceState = self.command({"command": "start", "definition": ["deep", 1]}, None)

    def command(self, command: dict[str, Any], state: InstanceState | None) -> InstanceState:
        return run_command(self._find, state, command, AT).state

    def complete(self) -> None:
        """Complete the tasks that are open, until there are none or one cannot be completed."""
        while self.state.get("tasks"):
            task = next(iter(self.state["tasks"]))
            self.state = self.command({"command": "complete_task", "task": task}, self.state)

    def _find(self, key: str, revision: int | str | None) -> tuple[Definition, int]:
        return self.definition, 1


class TestNesting:
    @pytest.mark.parametrize("loop", ["", ONCE])
    def test_as_deep_as_is_published_runs_to_its_end(self, loop: str) -> None:
        instance = Instance(nested(MAX_NESTED, loop=loop))
        instance.complete()
        assert instance.state["status"] == "completed"

    def test_one_deeper_is_refused_with_its_element_and_line(self) -> None:
        with pytest.raises(InvalidDefinition) as refused:
            parse_definition(nested(MAX_NESTED + 1))
        (problem,) = refused.value.problems
        assert (problem.element, problem.line) == ("p1", MAX_NESTED + 2)
        assert problem.message == f"Sub-processes are nested more than {MAX_NESTED} deep."


class TestCalls:
    def test_deeper_than_a_state_may_be_is_a_failure_of_the_command(self) -> None:
        instance = Instance(nested(MAX_NESTED, calls=True))
        with pytest.raises(CommandFailed) as failed:
            instance.complete()
        assert str(MAX_SCOPES_DEEP) in failed.value.reason
        assert len(instance.state["scopes"]) <= MAX_SCOPES_DEEP

    def test_what_is_as_deep_as_it_can_be_can_be_ended(self) -> None:
        instance = Instance(nested(MAX_NESTED, calls=True))
        with pytest.raises(CommandFailed):
            instance.complete()
        assert instance.command({"command": "terminate"}, instance.state)["status"] == "terminated"
