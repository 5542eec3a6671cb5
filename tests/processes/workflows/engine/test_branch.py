from datetime import datetime, timedelta

from processes.workflows.engine.branch import branch_state
from processes.workflows.engine.definition import NodeKind
from processes.workflows.engine.runner import InstanceState
from tests.processes.workflows.engine.builder import (
    boundary,
    catch,
    compensation,
    cycle,
    date,
    duration,
    each,
    message,
    node,
    parallel,
    process,
    sub,
    throw,
    user,
)
from tests.processes.workflows.engine.process_driver import START, ProcessDriver, check_state


def renewed(case: ProcessDriver, *, after: timedelta = timedelta(0)) -> InstanceState:
    return branch_state(case.library, case.state, epoch=1, taken_at=case.at, at=case.at + after)


class TestBranchState:
    DEFINITION = process(
        parallel("p"),
        sub("s", user("a", loop=each("xs", item="x")), "start_in > a > end_in"),
        boundary("m", "s", message("m")),
        user("b"),
        parallel("j"),
        "start > p", "p > s > j > end", "p > b > j", "m > end2",
    )  # fmt: skip

    def test_every_id_is_new_and_the_state_whole(self) -> None:
        case = ProcessDriver(self.DEFINITION, xs=[1, 2])
        state = renewed(case)
        check_state(state)
        for section in ("scopes", "tokens", "tasks", "subscriptions", "loops"):
            assert len(state[section]) == len(case.state[section])
            assert all(key.startswith("1.") for key in state[section])

    def test_the_same_commands_lead_to_the_same_end(self) -> None:
        case = ProcessDriver(self.DEFINITION, xs=[1, 2]).complete("b")
        case.state = renewed(case)
        assert case.complete("a").complete("a").status == "completed"

    def test_timers_are_given_the_time_they_had_left_but_dates_stay(self) -> None:
        definition = process(
            parallel("p"), catch("d", duration("PT1H")), catch("c", cycle("R3/PT2H")), catch("t", date("2030-06-01")),
            "start > p", "p > d > e", "p > c > e", "p > t > e",
        )  # fmt: skip
        case = ProcessDriver(definition)
        case.at += timedelta(minutes=20)
        state = renewed(case, after=timedelta(days=1))
        due = {timer["element"]: datetime.fromisoformat(timer["due"]) for timer in state["timers"].values()}
        day_later = START + timedelta(days=1, minutes=20)
        assert due["d"] == day_later + timedelta(minutes=40)
        assert due["c"] == day_later + timedelta(minutes=100)
        assert due["t"] == START.replace(month=6)

    def test_what_was_done_can_still_be_undone(self) -> None:
        definition = process(
            node(NodeKind.TASK, "a", compensated_by="ua"), node(NodeKind.USER_TASK, "ua", is_for_compensation=True),
            user("b"), throw("t", compensation()), "start > a > b > t > end",
        )  # fmt: skip
        case = ProcessDriver(definition)
        case.state = renewed(case)
        case.complete("b")
        case.state = branch_state(case.library, case.state, epoch=2, taken_at=case.at, at=case.at)
        assert case.complete("ua").status == "completed"

    def test_a_finished_state_stays_finished_and_a_suspended_one_suspended(self) -> None:
        case = ProcessDriver(process(user("a"), "start > a > end"), x=1)
        case.do("suspend")
        assert renewed(case)["status"] == "suspended"
        case.do("resume")
        assert renewed(case.complete("a"))["status"] == "completed"
