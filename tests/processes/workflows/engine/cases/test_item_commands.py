"""Every command of an item, in every state that the item can be in: it is done, or refused and nothing has changed."""

import json

import pytest

from processes.workflows.engine.runner import CommandRejected
from tests.processes.workflows.case_files import human, listener
from tests.processes.workflows.engine.cases.case_driver import CaseDriver
from tests.processes.workflows.engine.cases.cases_by_state import ACTIVITIES, MOMENTS, bring, possible
from tests.processes.workflows.engine.cases.test_lifecycle import read_table

# `.`: refused. Process and case tasks complete by what they run, and only a user event listener is made to occur.
OF_STAGES_AND_TASKS = """
                  available   enabled     disabled    active      suspended   completed   terminated  failed
start             .           active      .           .           .           .           .           .
occur             .           .           .           .           .           .           .           .
disable           .           disabled    .           .           .           .           .           .
reenable          .           .           enabled     .           .           .           .           .
suspend_item      .           .           .           suspended   .           .           .           .
resume_item       .           .           .           .           active      .           .           .
terminate_item    .           .           .           terminated  .           .           .           .
complete_item     .           .           .           completed   .           .           .           .
"""
OF_MILESTONES_AND_LISTENERS = """
                  available   suspended   completed   terminated
start             .           .           .           .
occur             completed   .           .           .
disable           .           .           .           .
reenable          .           .           .           .
suspend_item      suspended   .           .           .
resume_item       .           available   .           .
terminate_item    terminated  .           .           .
complete_item     .           .           .           .
"""
ITEMS = [(kind, state) for kind in (*ACTIVITIES, *MOMENTS) for state in possible(kind)]
COMMANDS = sorted({command for _, command in read_table(OF_STAGES_AND_TASKS)})


def expected_of(kind: str, state: str, command: str) -> str | None:
    if command == "complete_item" and kind in ("process task", "case task", "stage"):
        return None  # in the stage its task is under way
    if command == "occur" and kind != "user event listener":
        return None
    return read_table(OF_STAGES_AND_TASKS if kind in ACTIVITIES else OF_MILESTONES_AND_LISTENERS)[state, command]


def refuse(course: CaseDriver, command: str, element: str) -> None:
    before, trace = json.dumps(course.state), list(course.trace)
    with pytest.raises(CommandRejected):
        course.item(command, element)
    assert (json.dumps(course.state), course.trace) == (before, trace)


class TestCommandItem:
    @pytest.mark.parametrize(("kind", "state"), ITEMS)
    def test_each_command_is_done_or_refused_as_the_table_says(self, kind: str, state: str) -> None:
        for command in COMMANDS:
            course, expected = bring(kind, state), expected_of(kind, state, command)
            if expected is None:
                refuse(course, command, "X")
            else:
                assert course.item(command, "X").states("X") == [expected], command
                assert course.status == "active"

    @pytest.mark.parametrize(("kind", "state"), ITEMS)
    def test_none_is_done_while_the_stage_around_the_item_is_suspended(self, kind: str, state: str) -> None:
        course = bring(kind, state, within=True).item("suspend_item", "S")
        keeps = ("completed", "terminated", "failed")
        assert course.states("X") == [state if state in keeps else "suspended"]
        for command in COMMANDS:
            refuse(course, command, "X")

    @pytest.mark.parametrize(("kind", "state"), ITEMS)
    def test_an_item_is_after_a_suspension_of_its_stage_what_it_was_before(self, kind: str, state: str) -> None:
        course = bring(kind, state, within=True)
        tasks = course.tasks
        course.item("suspend_item", "S").item("resume_item", "S")
        assert (course.states("X"), course.tasks) == ([state], tasks)
        assert state == "suspended" or not any(
            "before" in record or "paused" in record for record in course.state["items"].values()
        )

    @pytest.mark.parametrize(("kind", "state"), ITEMS)
    def test_an_item_that_is_not_done_ends_with_its_stage(self, kind: str, state: str) -> None:
        course = bring(kind, state, within=True).item("terminate_item", "S")
        assert course.states("X") == ["completed" if state == "completed" else "terminated"]
        assert course.tasks == ["Keep"]
        assert "timers" not in course.state

    def test_a_stage_is_completed_by_hand_when_nothing_in_it_is_under_way(self) -> None:
        course = bring("stage", "active").item("suspend_item", "In")
        refuse(course, "complete_item", "X")
        course.item("resume_item", "In").item("terminate_item", "In")
        assert course.states("X") == ["completed"]

    @pytest.mark.parametrize("given", [{"item": "0.99"}, {"item": None}, {"item": ["x"]}])
    def test_an_item_that_is_not_there_takes_none(self, given: dict[str, object]) -> None:
        course = CaseDriver.of(human("A"))
        for command in COMMANDS:
            with pytest.raises(CommandRejected):
                course.do(command, **given)


# Those of the case as a whole; `resume_item` and the like with its plan do the same.
OF_CASES = """
                  active      suspended   completed   terminated  closed
suspend           suspended   .           .           .           .
resume            .           active      .           .           .
terminate         terminated  terminated  .           .           .
close             .           closed      closed      closed      .
set_variables     active      suspended   .           .           .
"""
OF_PLANS = """
                  active      suspended   completed   terminated  closed
start             .           .           .           .           .
occur             .           .           .           .           .
disable           .           .           .           .           .
reenable          .           .           .           .           .
suspend_item      suspended   .           .           .           .
resume_item       .           .           .           .           .
terminate_item    terminated  .           .           .           .
complete_item     .           .           .           .           .
"""


def bring_case(state: str) -> CaseDriver:
    course = CaseDriver.of(human("A"), listener("L"))
    ways = {"suspended": "suspend", "terminated": "terminate"}
    if state in ways:
        course.do(ways[state])
    elif state in ("completed", "closed"):
        course.complete("A")
    if state == "closed":
        course.do("close")
    assert (course.status, course.states("plan")) == (state, [state])
    return course


class TestCommandCase:
    @pytest.mark.parametrize(("state", "command"), read_table(OF_CASES))
    def test_a_command_is_done_or_refused_as_the_table_says(self, state: str, command: str) -> None:
        course, expected = bring_case(state), read_table(OF_CASES)[state, command]
        if expected is None:
            before = json.dumps(course.state)
            with pytest.raises(CommandRejected):
                course.do(command)
            assert json.dumps(course.state) == before
        else:
            course.do(command)
            assert (course.status, course.states("plan")) == (expected, [expected])

    @pytest.mark.parametrize(("state", "command"), read_table(OF_PLANS))
    def test_the_plan_takes_the_commands_of_an_item_that_a_case_knows(self, state: str, command: str) -> None:
        course, expected = bring_case(state), read_table(OF_PLANS)[state, command]
        if expected is None:
            refuse(course, command, "plan")
        else:
            course.item(command, "plan")
            assert (course.status, course.states("plan")) == (expected, [expected])

    def test_a_case_is_completed_by_hand_when_nothing_in_it_is_under_way(self) -> None:
        course = CaseDriver.of(human("A", manual=True), listener("L"))
        assert course.item("complete_item", "plan").status == "completed"
        assert course.plan == {"A": "terminated", "L": "terminated"}

    def test_nothing_is_left_to_do_in_a_case_that_has_ended(self) -> None:
        for state in ("completed", "terminated", "closed"):
            course = bring_case(state)
            assert (course.tasks, course.state.get("timers")) == ([], None)
            assert set(course.plan.values()) <= {"completed", "terminated"}
