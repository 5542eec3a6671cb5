"""Every command of an item, in every state that the item can be in: it is done, or refused and nothing has changed."""

import json

import pytest

from processes.workflows.engine.cases.commands import TRANSITIONS, list_allowed_commands
from processes.workflows.engine.runner import CommandRejected, run_command
from tests.processes.workflows.case_files import (
    case,
    case_task,
    human,
    listener,
    milestone,
    process_task,
    stage,
    timer,
)
from tests.processes.workflows.engine.cases.case_driver import CaseDriver
from tests.processes.workflows.engine.cases.cases_by_state import (
    ACTIVITIES,
    INNER,
    OCCURRENCES,
    PROCESS,
    bring_to_state,
    list_reachable_states,
)
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
reactivate_item   .           .           .           .           .           .           .           active
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
reactivate_item   .           .           .           .
"""
ITEMS = [(kind, state) for kind in (*ACTIVITIES, *OCCURRENCES) for state in list_reachable_states(kind)]
COMMANDS = sorted({command for _, command in read_table(OF_STAGES_AND_TASKS)})


def expected_of(kind: str, state: str, command: str) -> str | None:
    if command == "complete_item" and kind in ("process task", "case task", "stage"):
        return None  # in the stage its task is under way
    if command == "occur" and kind != "user event listener":
        return None
    return read_table(OF_STAGES_AND_TASKS if kind in ACTIVITIES else OF_MILESTONES_AND_LISTENERS)[state, command]


def refuse(driver: CaseDriver, command: str, element: str) -> None:
    before, trace = json.dumps(driver.state), list(driver.trace)
    with pytest.raises(CommandRejected):
        driver.item(command, element)
    assert (json.dumps(driver.state), driver.trace) == (before, trace)


class TestApplyItemCommand:
    @pytest.mark.parametrize(("kind", "state"), ITEMS)
    def test_each_command_is_done_or_refused_as_the_table_says(self, kind: str, state: str) -> None:
        for command in COMMANDS:
            driver, expected = bring_to_state(kind, state), expected_of(kind, state, command)
            if expected is None:
                refuse(driver, command, "X")
            else:
                assert driver.item(command, "X").states("X") == [expected], command
                assert driver.status == "active"

    @pytest.mark.parametrize(("kind", "state"), ITEMS)
    def test_none_is_done_while_the_stage_around_the_item_is_suspended(self, kind: str, state: str) -> None:
        driver = bring_to_state(kind, state, within=True).item("suspend_item", "S")
        keeps = ("completed", "terminated", "failed")
        assert driver.states("X") == [state if state in keeps else "suspended"]
        for command in COMMANDS:
            refuse(driver, command, "X")

    @pytest.mark.parametrize(("kind", "state"), ITEMS)
    def test_an_item_is_after_a_suspension_of_its_stage_what_it_was_before(self, kind: str, state: str) -> None:
        driver = bring_to_state(kind, state, within=True)
        tasks = driver.tasks
        driver.item("suspend_item", "S").item("resume_item", "S")
        assert (driver.states("X"), driver.tasks) == ([state], tasks)
        assert state == "suspended" or not any(
            "before" in record or "paused" in record for record in driver.state["items"].values()
        )

    @pytest.mark.parametrize(("kind", "state"), ITEMS)
    def test_an_item_that_is_not_done_ends_with_its_stage(self, kind: str, state: str) -> None:
        driver = bring_to_state(kind, state, within=True).item("terminate_item", "S")
        assert driver.states("X") == ["completed" if state == "completed" else "terminated"]
        assert driver.tasks == ["Keep"]
        assert "timers" not in driver.state

    def test_a_stage_is_completed_by_hand_when_nothing_in_it_is_under_way(self) -> None:
        driver = bring_to_state("stage", "active").item("suspend_item", "In")
        refuse(driver, "complete_item", "X")
        driver.item("resume_item", "In").item("terminate_item", "In")
        assert driver.states("X") == ["completed"]

    @pytest.mark.parametrize("given", [{"item": "0.99"}, {"item": None}, {"item": ["x"]}])
    def test_an_item_that_is_not_there_takes_none(self, given: dict[str, object]) -> None:
        driver = CaseDriver.of(human("A"))
        for command in COMMANDS:
            with pytest.raises(CommandRejected):
                driver.do(command, **given)


# Those of the case as a whole; `resume_item` and the like with its plan do the same.
OF_CASES = """
                  active      suspended   completed   terminated  closed
suspend           suspended   .           .           .           .
resume            .           active      .           .           .
terminate         terminated  terminated  .           .           .
close             .           closed      closed      closed      .
reactivate        .           active      .           active      .
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
reactivate_item   .           .           .           .           .
"""


def bring_case(state: str) -> CaseDriver:
    driver = CaseDriver.of(human("A"), listener("L"))
    ways = {"suspended": "suspend", "terminated": "terminate"}
    if state in ways:
        driver.do(ways[state])
    elif state in ("completed", "closed"):
        driver.complete("A")
    if state == "closed":
        driver.do("close")
    assert (driver.status, driver.states("plan")) == (state, [state])
    return driver


class TestCommandsToTheCase:
    @pytest.mark.parametrize(("state", "command"), read_table(OF_CASES))
    def test_a_command_is_done_or_refused_as_the_table_says(self, state: str, command: str) -> None:
        driver, expected = bring_case(state), read_table(OF_CASES)[state, command]
        if expected is None:
            before = json.dumps(driver.state)
            with pytest.raises(CommandRejected):
                driver.do(command)
            assert json.dumps(driver.state) == before
        else:
            driver.do(command)
            assert (driver.status, driver.states("plan")) == (expected, [expected])

    @pytest.mark.parametrize(("state", "command"), read_table(OF_PLANS))
    def test_the_plan_takes_the_commands_of_an_item_that_a_case_knows(self, state: str, command: str) -> None:
        driver, expected = bring_case(state), read_table(OF_PLANS)[state, command]
        if expected is None:
            refuse(driver, command, "plan")
        else:
            driver.item(command, "plan")
            assert (driver.status, driver.states("plan")) == (expected, [expected])

    def test_a_case_is_completed_by_hand_when_nothing_in_it_is_under_way(self) -> None:
        driver = CaseDriver.of(human("A", manual=True), listener("L"))
        assert driver.item("complete_item", "plan").status == "completed"
        assert driver.plan == {"A": "terminated", "L": "terminated"}

    def test_a_terminated_case_goes_on_with_what_had_not_been_done(self) -> None:
        driver = CaseDriver.of(human("A"), human("B"), human("C", manual=True), milestone("M"))
        driver.complete("A").do("terminate").do("reactivate")
        assert (driver.status, driver.tasks) == ("active", ["B"])
        assert driver.plan == {"A": "completed", "B": "active", "C": "enabled", "M": "completed"}
        driver.complete("B").item("start", "C").complete("C")
        assert driver.status == "completed"

    def test_what_was_terminated_before_the_case_ended_does_not_begin_again(self) -> None:
        driver = CaseDriver.of(human("A"), human("B")).item("terminate_item", "A").do("terminate").do("reactivate")
        assert (driver.plan, driver.tasks) == ({"A": "terminated", "B": "active"}, ["B"])

    def test_a_stage_begins_again_as_a_whole(self) -> None:
        driver = CaseDriver.of(stage("S", human("A"), human("B"))).complete("A").do("terminate").do("reactivate")
        assert (driver.status, sorted(driver.tasks)) == ("active", ["A", "B"])

    def test_a_suspended_case_is_resumed_by_it(self) -> None:
        driver = CaseDriver.of(human("A")).do("suspend").do("reactivate")
        assert (driver.status, driver.tasks) == ("active", ["A"])

    def test_it_may_end_again_and_go_on_again(self) -> None:
        driver = CaseDriver.of(human("A"))
        for _ in range(3):
            driver.do("terminate").do("reactivate")
        assert (driver.status, driver.tasks, len(driver.state["items"])) == ("active", ["A"], 2)

    def test_nothing_is_left_to_do_in_a_case_that_has_ended(self) -> None:
        for state in ("completed", "terminated", "closed"):
            driver = bring_case(state)
            assert (driver.tasks, driver.state.get("timers")) == ([], None)
            assert set(driver.plan.values()) <= {"completed", "terminated"}


def taken(driver: CaseDriver) -> dict[str, tuple[str, ...]]:
    """Try everything, each on the same state."""
    found = {
        key: tuple(name for name in TRANSITIONS if is_taken(driver, name, key)) for key in driver.state.get("items", {})
    }
    return {key: names for key, names in found.items() if names}


def is_taken(driver: CaseDriver, name: str, key: str) -> bool:
    try:
        run_command(driver.library, driver.state, {"command": name, "item": key}, driver.now)
    except CommandRejected:
        return False
    return True


def check(driver: CaseDriver) -> None:
    before = json.dumps(driver.state)
    assert list_allowed_commands(driver.library, driver.state) == taken(driver)
    assert json.dumps(driver.state) == before


WHOLE = case(
    stage("S", human("A", required=True), human("B", manual=True), milestone("M", entry="A complete"), required=True),
    stage("T", stage("U", human("C", manual=True), timer("W", "PT1H")), listener("L"), auto=True),
    case_task("Inner", "inner"),
    process_task("Work", "work"),
    human("R", manual=True, repeats=True),
    human("Last", entry="S complete", exit="L occur"),
)
STEPS = [
    ("item", "start", "B"),
    ("item", "suspend_item", "T"),
    ("item", "disable", "R"),
    ("complete", "A"),
    ("item", "terminate_item", "B"),
    ("item", "suspend_item", "Inner"),
    ("item", "resume_item", "T"),
    ("item", "occur", "L"),
    ("item", "reenable", "R"),
    ("complete", "carry"),
    ("do", "suspend"),
    ("do", "resume"),
    ("do", "terminate"),
    ("do", "close"),
]


class TestListAllowedCommands:
    @pytest.mark.parametrize("within", [False, True])
    def test_of_one_item_in_each_of_its_states(self, within: bool) -> None:
        for kind in (*ACTIVITIES, *OCCURRENCES):
            for state in list_reachable_states(kind):
                check(bring_to_state(kind, state, within=within))

    def test_of_a_whole_case_all_the_way(self) -> None:
        driver = CaseDriver(WHOLE, PROCESS, INNER, variables={"ok": False})
        check(driver)
        for name, *given in STEPS:
            getattr(driver, name)(*given)
            check(driver)

    def test_says_what_staff_expect(self) -> None:
        driver = CaseDriver.of(human("A", manual=True), stage("S", human("B", manual=True)), listener("L"))
        offered = list_allowed_commands(driver.library, driver.state)
        assert offered[driver.key("A")] == ("start", "disable")
        assert offered[driver.key("S")] == ("complete_item", "suspend_item", "terminate_item")
        assert offered[driver.key("L")] == ("occur", "suspend_item", "terminate_item")
        assert offered[driver.key("plan")] == ("suspend_item", "terminate_item")

    def test_nothing_of_what_has_not_begun_or_is_over(self) -> None:
        over = {"kind": "cmmn", "epoch": 0, "next": 1, "status": "terminated", "record": ""}
        assert list_allowed_commands(CaseDriver.of(human("A")).library, over) == {}  # type: ignore[arg-type]
        assert list_allowed_commands(CaseDriver.of(human("A")).library, {}) == {}
