"""Random processes, run to their end in a random order: no token is lost or invented, and nothing depends on ids."""

import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from processes.workflows.engine.branch import branch_state
from processes.workflows.engine.execution.records import SECTIONS, sequence_number
from processes.workflows.engine.runner import CommandRejected, InstanceState
from processes.workflows.engine.runner import run_command as run
from tests.processes.workflows.engine.execution.random_processes import BlockPlan, blocks, plan_of, verify
from tests.processes.workflows.engine.process_driver import START, ProcessDriver

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
EXAMPLES = settings(
    max_examples=max(20, int(4000 * SCALE)),
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def open_commands(state: InstanceState) -> list[dict[str, Any]]:
    """Give every command that would get the instance on."""
    tasks = state.get("tasks", {})
    found: list[dict[str, Any]] = [{"command": "complete_task", "task": key} for key in tasks]
    found += [{"command": "fire_timer", "timer": key} for key in state.get("timers", {})]
    found += [{"command": "event", "subscription": key} for key in state.get("subscriptions", {})]
    return found


def run_to_the_end(
    plan: BlockPlan, data: strategies.DataObject
) -> tuple[ProcessDriver, list[InstanceState], Counter[str]]:
    case = ProcessDriver(plan.definition, plan.called)
    states = [case.state]
    runs = Counter(case.walk)
    while case.status == "active":
        commands = open_commands(case.state)
        assert commands, f"nothing to wait for, but not at the end: {case.tokens}"
        chosen = commands[data.draw(strategies.integers(0, len(commands) - 1))]
        run_command(case, chosen)
        states.append(case.state)
        runs.update(case.walk)
        with pytest.raises(CommandRejected):
            run_command(case, chosen)
    return case, states, runs


def run_command(case: ProcessDriver, command: dict[str, Any]) -> None:
    case.do(command["command"], **{field: value for field, value in command.items() if field != "command"})


class TestRandomProcesses:
    @EXAMPLES
    @given(block=blocks(), data=strategies.data())
    def test_every_part_runs_as_often_as_the_blocks_say(self, block: Any, data: strategies.DataObject) -> None:
        plan = plan_of(block)
        case, _, runs = run_to_the_end(plan, data)
        verify(plan, runs)
        assert (case.status, runs["end"]) == ("completed", 1 + runs_of_called(plan, runs))

    @EXAMPLES
    @given(block=blocks(), data=strategies.data())
    def test_the_same_commands_lead_to_the_same_states_after_a_return_too(
        self, block: Any, data: strategies.DataObject
    ) -> None:
        case, states, _ = run_to_the_end(plan_of(block), data)
        version = data.draw(strategies.integers(0, len(states) - 1))
        state = branch_state(case.library, states[version], epoch=3, taken_at=START, at=START)
        for (command, at), before, after in zip(
            case.commands[version + 1 :], states[version:], states[version + 1 :], strict=False
        ):
            again = run(case.library, before, command, at)
            assert again.state == after
            state = run(case.library, state, renamed(command, before, state), at).state
            assert without_ids(case, state) == without_ids(case, after)


def runs_of_called(plan: BlockPlan, runs: Counter[str]) -> int:
    return sum(times for element, times in runs.items() if element.startswith("call"))


def ids(state: InstanceState) -> list[str]:
    keys = [key for section in SECTIONS for key in state.get(section, {})]  # type: ignore[attr-defined]
    return sorted(keys, key=sequence_number)


def renamed(command: dict[str, Any], state: InstanceState, other: InstanceState) -> dict[str, Any]:
    """Give the command that means in another state, of the same shape, what this one means here."""
    names = dict(zip(ids(state), ids(other), strict=True))
    return {field: names.get(value, value) for field, value in command.items()}


def without_ids(case: ProcessDriver, state: InstanceState) -> InstanceState:
    return branch_state(case.library, state, epoch=9, taken_at=START, at=START)
