"""What is offered is what is done: each command is tried on each item of states that differ as much as they can."""

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
    MOMENTS,
    PROCESS,
    bring,
    possible,
)


def taken(course: CaseDriver) -> dict[str, tuple[str, ...]]:
    """Try everything, each on the same state."""
    found = {
        key: tuple(name for name in TRANSITIONS if is_taken(course, name, key)) for key in course.state.get("items", {})
    }
    return {key: names for key, names in found.items() if names}


def is_taken(course: CaseDriver, name: str, key: str) -> bool:
    try:
        run_command(course.library, course.state, {"command": name, "item": key}, course.now)
    except CommandRejected:
        return False
    return True


def check(course: CaseDriver) -> None:
    before = json.dumps(course.state)
    assert list_allowed_commands(course.library, course.state) == taken(course)
    assert json.dumps(course.state) == before


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


class TestOffer:
    @pytest.mark.parametrize("within", [False, True])
    def test_of_one_item_in_each_of_its_states(self, within: bool) -> None:
        for kind in (*ACTIVITIES, *MOMENTS):
            for state in possible(kind):
                check(bring(kind, state, within=within))

    def test_of_a_whole_case_all_the_way(self) -> None:
        course = CaseDriver(WHOLE, PROCESS, INNER, variables={"ok": False})
        check(course)
        for name, *given in STEPS:
            getattr(course, name)(*given)
            check(course)

    def test_says_what_staff_expect(self) -> None:
        course = CaseDriver.of(human("A", manual=True), stage("S", human("B", manual=True)), listener("L"))
        offered = list_allowed_commands(course.library, course.state)
        assert offered[course.key("A")] == ("start", "disable")
        assert offered[course.key("S")] == ("complete_item", "suspend_item", "terminate_item")
        assert offered[course.key("L")] == ("occur", "suspend_item", "terminate_item")
        assert offered[course.key("plan")] == ("suspend_item", "terminate_item")

    def test_nothing_of_what_has_not_begun_or_is_over(self) -> None:
        over = {"kind": "cmmn", "epoch": 0, "next": 1, "status": "terminated", "record": ""}
        assert list_allowed_commands(CaseDriver.of(human("A")).library, over) == {}  # type: ignore[arg-type]
        assert list_allowed_commands(CaseDriver.of(human("A")).library, {}) == {}
