from datetime import timedelta

import pytest

from processes.workflows.engine.runner import CommandFailed
from tests.processes.workflows.engine.builder import (
    boundary,
    condition,
    cycle,
    duration,
    end,
    error,
    message,
    process,
    script,
    service,
    signal,
    sub,
    throw,
    user,
)
from tests.processes.workflows.engine.process_driver import START, ProcessDriver


class TestInterrupting:
    def test_the_activity_is_cancelled_and_the_flow_goes_on_at_the_event(self) -> None:
        definition = process(
            user("a"), boundary("t", "a", duration("PT1H")), user("b"), "start > a > end", "t > b > end"
        )
        case = ProcessDriver(definition).fire("t")
        assert case.trace == (("cancel", "a"), ("enter", "t"), ("leave", "t"), ("enter", "b"))
        assert case.tasks == ["b"]

    def test_is_gone_when_the_activity_is_done(self) -> None:
        late, asked = boundary("t", "a", duration("PT1H")), boundary("m", "a", message("m"))
        definition = process(user("a"), late, asked, user("b"), "start > a > b > end", "t > b", "m > b")
        case = ProcessDriver(definition).complete("a")
        assert not case.state.keys() & {"timers", "subscriptions"}

    def test_cancels_everything_inside_a_sub_process(self) -> None:
        inner = sub("s", user("a"), boundary("late", "a", duration("PT1H")), "start_in > a > end_in", "late > end_late")
        definition = process(inner, boundary("m", "s", message("stop")), user("z"), "start > s > end", "m > z > end")
        case = ProcessDriver(definition).send("stop")
        assert case.cancelled == ["a", "s"]
        assert (case.tokens, len(case.state["scopes"])) == (["z"], 1)

    def test_a_signal_thrown_inside_interrupts_its_thrower(self) -> None:
        inner = sub("s", throw("t", signal("x")), user("a"), "start_in > t > a > end_in")
        case = ProcessDriver(
            process(inner, boundary("b", "s", signal("x")), user("z"), "start > s > end", "b > z > end")
        )
        assert (case.tokens, [effect["kind"] for effect in case.effects]) == (["z"], ["signal"])

    def test_a_condition(self) -> None:
        definition = process(user("a"), boundary("c", "a", condition("x > 1")), "start > a > end", "c > end2")
        case = ProcessDriver(definition, x=1)
        case.do("set_variables", variables={"x": 2})
        assert (case.status, case.cancelled) == ("completed", ["a"])


class TestNonInterrupting:
    def test_a_message_as_often_as_it_comes(self) -> None:
        definition = process(user("a"), boundary("m", "a", message("m"), is_interrupting=False), user("b"),
                             "start > a > end", "m > b > end2")  # fmt: skip
        case = ProcessDriver(definition).send("m").send("m")
        assert case.tasks == ["a", "b", "b"]
        assert case.state["subscriptions"][case._only("subscriptions", "m")]["is_persistent"]
        assert case.complete("a").complete("b").complete("b").status == "completed"

    def test_a_duration_once(self) -> None:
        definition = process(user("a"), boundary("t", "a", duration("PT1H"), is_interrupting=False), user("b"),
                             "start > a > end", "t > b > end2")  # fmt: skip
        case = ProcessDriver(definition).fire("t")
        assert (case.tasks, case.state.get("timers")) == (["a", "b"], None)

    def test_a_cycle_as_often_as_it_says(self) -> None:
        definition = process(user("a"), boundary("t", "a", cycle("R3/PT1H"), is_interrupting=False), user("b"),
                             "start > a > end", "t > b > end2")  # fmt: skip
        case = ProcessDriver(definition)
        for hour in (1, 2, 3):
            assert case.state["timers"][case._only("timers", "t")]["due"] == (START + timedelta(hours=hour)).isoformat()
            case.fire("t", after=timedelta(hours=1))
        assert (case.tasks, case.state.get("timers")) == (["a", "b", "b", "b"], None)

    def test_a_cycle_leaves_out_what_it_missed(self) -> None:
        definition = process(user("a"), boundary("t", "a", cycle("R/PT1H"), is_interrupting=False),
                             "start > a > end", "t > end2")  # fmt: skip
        case = ProcessDriver(definition).fire("t", after=timedelta(hours=5, minutes=30))
        assert case.state["timers"][case._only("timers", "t")]["due"] == (START + timedelta(hours=6)).isoformat()

    def test_a_condition_whenever_it_becomes_true(self) -> None:
        definition = process(user("a"), boundary("c", "a", condition("x > 1"), is_interrupting=False), user("b"),
                             "start > a > end", "c > b > end2")  # fmt: skip
        case = ProcessDriver(definition, x=1)
        for x in (2, 3, 1, 4):
            case.do("set_variables", variables={"x": x})
        assert case.tasks == ["a", "b", "b"]

    def test_a_signal(self) -> None:
        definition = process(user("a"), boundary("c", "a", signal("s"), is_interrupting=False), user("b"),
                             "start > a > end", "c > b > end2")  # fmt: skip
        assert ProcessDriver(definition).event("c").event("c").tasks == ["a", "b", "b"]


class TestError:
    def test_of_a_job_is_caught_at_its_task(self) -> None:
        definition = process(service("s", "external"), boundary("b", "s", error("E1")), user("z"),
                             "start > s > end", "b > z > end")  # fmt: skip
        case = ProcessDriver(definition)
        case.do("fail_job", task=case.task("s"), error="no", code="E1")
        assert case.trace == (("cancel", "s"), ("enter", "b"), ("leave", "b"), ("enter", "z"))

    def test_of_another_code_is_not(self) -> None:
        definition = process(service("s", "external"), boundary("b", "s", error("E1")), "start > s > end", "b > end2")
        case = ProcessDriver(definition)
        with pytest.raises(CommandFailed, match="no way"):
            case.do("fail_job", task=case.task("s"), error="no way", code="E2")

    def test_goes_outwards_to_the_nearest_that_catches_it(self) -> None:
        inner = sub("i", script("t", x="1"), end("e", error("E1")), "start_i > t > e")
        middle = sub("m", inner, boundary("b1", "i", error("E2")), "start_m > i > end_m", "b1 > end_b1")
        definition = process(middle, boundary("any", "m", error()), boundary("exact", "m", error("E1")), user("z"),
                             "start > m > end", "any > end2", "exact > z > end3")  # fmt: skip
        case = ProcessDriver(definition)
        assert case.walk[-2:] == ["exact", "z"]
        assert case.cancelled == ["i", "m"]

    def test_that_nothing_catches_fails(self) -> None:
        with pytest.raises(CommandFailed, match="e: Nothing catches the error E1"):
            ProcessDriver(process(end("e", error("E1")), "start > e"))
