"""Random cases under random commands: a second opinion agrees, every state is whole, a return leads to the same."""

import json
import os
from collections.abc import Iterator
from functools import cache
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from processes.workflows.engine.branch import branch_state
from processes.workflows.engine.definition import NodeKind
from processes.workflows.engine.execution import limits
from processes.workflows.engine.execution.records import SECTIONS, sequence_number
from processes.workflows.engine.runner import InstanceState, run_command
from tests.processes.workflows.case_files import case, human, listener, milestone, process_task, stage, timer
from tests.processes.workflows.engine.cases.case_driver import START, CaseDriver
from tests.processes.workflows.engine.cases.cases_by_state import PROCESS
from tests.processes.workflows.engine.cases.random_plans import ROOT
from tests.processes.workflows.engine.cases.random_walks import Walk, WalkStep, walk
from tests.processes.workflows.engine.cases.reference_model import ReferenceModel
from tests.processes.workflows.engine.cases.state_invariants import StateInvariants
from tests.processes.workflows.engine.cases.test_lifecycle import TABLES, read_table

SCALE = float(os.environ.get("DRILL_SCALE", "0.02"))
EXAMPLES = settings(
    max_examples=max(100, int(10_000 * SCALE)),
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
SEEDS = st.integers(0, 2**32)
"""A case and what is done to it follow from a number: run the test again with it to see them."""


@pytest.fixture(autouse=True, scope="module")
def few_steps() -> Iterator[None]:
    """Plans that would go on for ever are refused after a while: make it a short one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "MAX_STEPS", 300)
        yield


class TestRunCommand:
    @pytest.mark.slow
    @EXAMPLES
    @given(seed=SEEDS)
    def test_sentries_completion_and_repetition_are_what_the_standard_makes_of_them(self, seed: int) -> None:
        worlds: list[ReferenceModel] = []

        def compare(found: Walk, step: WalkStep) -> None:
            if step.before is None:
                worlds.append(ReferenceModel(found.plan))
            is_by_hand = step.command["command"] == "complete_item"
            worlds[0].follow(step.trace, step.command.get("variables", {}), meant(step), is_by_hand=is_by_hand)
            assert worlds[0].states() == live_states(step.after)

        walk(Random(seed), compare)

    @pytest.mark.slow
    @EXAMPLES
    @given(seed=SEEDS)
    def test_every_state_is_whole(self, seed: int) -> None:
        def check(found: Walk, step: WalkStep) -> None:
            whole = StateInvariants(found.library, step.after)
            whole.check()
            check_ways(whole, step)

        walk(Random(seed), check, everything=True)

    @pytest.mark.slow
    @EXAMPLES
    @given(seed=SEEDS)
    def test_the_same_commands_lead_to_the_same_states_after_a_return_too(self, seed: int) -> None:
        random = Random(seed)
        found = walk(random, lambda found, step: None, everything=True)
        if not found.steps:
            return
        version = random.randrange(len(found.steps))
        begin = found.steps[version]
        state = branch_state(found.library, begin.after, epoch=3, taken_at=begin.at, at=begin.at)
        for step in found.steps[version + 1 :]:
            again = run_command(found.library, step.before, step.command, step.at)
            assert (again.state, again.trace) == (step.after, step.trace)
            outcome = run_command(found.library, state, renamed(step.command, step.before, state), step.at)
            state = outcome.state
            assert outcome.trace == step.trace
            assert without_ids(found, state) == without_ids(found, step.after)


def meant(step: WalkStep) -> tuple[str, int] | None:
    """Give the item that a command was given to, and which of those that are live it is."""
    if step.before is None:
        return None
    items, tasks = step.before["items"], step.before.get("tasks", {})
    task = tasks.get(step.command.get("task", ""))
    key = task["token"] if task is not None else step.command.get("item")
    if key is None:
        return None
    element = items[key]["element"]
    live = [other for other in sorted(items, key=sequence_number) if items[other]["element"] == element]
    live = [other for other in live if items[other]["state"] not in ("completed", "terminated", "closed")]
    return element, live.index(key)


def live_states(state: InstanceState) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key in sorted(state["items"], key=sequence_number):
        record = state["items"][key]
        if record["state"] not in ("completed", "terminated", "closed"):
            found.setdefault(record["element"], []).append(record["state"])
    return found


def check_ways(whole: StateInvariants, step: WalkStep) -> None:
    """Each item came from the state that it was in by transitions of the standard; a new one from the beginning."""
    before = step.before["items"] if step.before is not None else {}
    for key, record in whole.items.items():
        first = "active" if record["element"] in (ROOT, "inner_plan") else "available"
        was = str(before[key]["state"]) if key in before else first
        assert record["state"] in reached_from(whole.node(record).kind, was), (record, was)


@cache
def reached_from(kind: NodeKind, state: str) -> list[str]:
    """Name the states that lie behind a state, and itself; a suspended item may have been whatever can be suspended."""
    table = read_table(TABLES[kind])
    before = [at for (at, transition), to in table.items() if transition == "parentSuspend" and to is not None]
    reached = [state]
    for one in reached:
        leads = [to for (at, _), to in table.items() if at == one and to is not None]
        reached += dict.fromkeys(
            to for lead in leads for to in (before if lead == "before" else [lead]) if to not in reached
        )
    return reached


def ids(state: InstanceState) -> list[str]:
    keys = [key for section in SECTIONS for key in state.get(section, {})]  # type: ignore[attr-defined]
    return sorted(keys, key=sequence_number)


def renamed(command: dict[str, Any], state: InstanceState | None, other: InstanceState) -> dict[str, Any]:
    """Give the command that means in another state, of the same shape, what this one means here."""
    assert state is not None
    names = dict(zip(ids(state), ids(other), strict=True))
    return {name: names.get(value, value) if isinstance(value, str) else value for name, value in command.items()}


def without_ids(found: Walk, state: InstanceState) -> InstanceState:
    return branch_state(found.library, state, epoch=9, taken_at=START, at=START)


class TestRepetition:
    def test_the_state_does_not_grow_with_the_number_of_rounds(self) -> None:
        driver = CaseDriver.of(
            human("A", repeats=True),
            stage("S", human("B"), milestone("Done", entry="B complete"), entry="A complete", repeats=True),
            milestone("M", entry="S complete", repeats=True),
            timer("T", "R/PT1H"),
            human("C", entry="M occur, T occur", repeats=True),
        )
        sizes = []
        for _ in range(40):
            driver.complete("A").complete("B").fire("T").complete("C")
            sizes.append(size_of(driver.state))
        assert set(sizes[1:]) == {sizes[1]}

    def test_nor_does_it_when_items_are_ended_by_hand(self) -> None:
        driver = CaseDriver.of(human("A", repeats=True), human("B", repeats=True, manual=True), listener("L"))
        sizes = []
        for _ in range(20):
            driver.item("start", "B").item("terminate_item", "B").item("suspend_item", "A").item("resume_item", "A")
            sizes.append(size_of(driver.state))
        assert set(sizes) == {sizes[0]}

    def test_nor_with_the_processes_that_were_run(self) -> None:
        driver = CaseDriver(case(process_task("P", "work", repeats=True)), PROCESS)
        sizes = []
        for _ in range(20):
            driver.complete("carry", ok=True, note="x" * 50)
            sizes.append(size_of(driver.state))
        assert set(sizes[1:]) == {sizes[1]}


def size_of(state: InstanceState) -> tuple[int, ...]:
    """Measure a state apart from the length of its numbers."""
    renewed = branch_state(lambda key, revision: (_never(), 1), state, epoch=1, taken_at=START, at=START)
    timeless = {**renewed, "timers": {key: {**timer, "due": ""} for key, timer in renewed.get("timers", {}).items()}}
    return len(json.dumps(timeless)), state["size"], *(len(state.get(section, {})) for section in SECTIONS)  # type: ignore[arg-type]


def _never() -> Any:
    raise AssertionError("nothing is looked up")
