"""Sub-processes, event sub-processes, call activities, and whose variables are whose."""

import pytest

from processes.workflows.engine.definition import BpmnEvent, Loop, Trigger
from processes.workflows.engine.runner import CommandFailed
from tests.processes.workflows.engine.builder import (
    boundary,
    call,
    condition,
    cycle,
    duration,
    each,
    end,
    error,
    event_sub,
    message,
    parallel,
    process,
    script,
    service,
    signal,
    start,
    sub,
    throw,
    user,
)
from tests.processes.workflows.engine.process_driver import ProcessDriver


class TestSubProcess:
    def test_is_left_when_nothing_runs_in_it(self) -> None:
        inner = sub("s", parallel("p"), user("a"), user("b"), "start_in > p", "p > a > end_a", "p > b > end_b")
        case = ProcessDriver(process(inner, user("z"), "start > s > z > end"))
        assert (case.tokens, len(case.state["scopes"])) == (["a", "b", "s"], 2)
        assert case.complete("a").tokens == ["b", "s"]
        assert case.complete("b").trace[-2:] == (("leave", "s"), ("enter", "z"))
        assert len(case.state["scopes"]) == 1

    def test_writes_into_the_process(self) -> None:
        inner = sub("s", user("a"), "start_in > a > end_in")
        assert ProcessDriver(process(inner, "start > s > end"), x=1).complete("a", x=2, y=3).variables == {
            "x": 2,
            "y": 3,
        }

    def test_without_a_start_event_begins_with_what_nothing_leads_to(self) -> None:
        inner = sub("s", user("a"), user("b"), "a > b")
        assert ProcessDriver(process(inner, "start > s > end")).complete("a").complete("b").status == "completed"


class TestEventSubProcess:
    def test_an_interrupting_one_takes_over(self) -> None:
        handler = event_sub("h", start("hs", message("stop")), user("clean"), "hs > clean > end_h")
        case = ProcessDriver(process(user("a"), handler, "start > a > end")).send("stop", why="x")
        assert case.trace == (
            ("cancel", "a"), ("enter", "h"), ("enter", "hs"), ("leave", "hs"), ("enter", "clean"),
        )  # fmt: skip
        assert (case.tokens, case.state.get("subscriptions"), case.variables) == (["clean", "h"], None, {"why": "x"})
        assert case.complete("clean").status == "completed"

    def test_a_non_interrupting_one_runs_beside_as_often_as_it_is_asked(self) -> None:
        handler = event_sub("h", start("hs", message("m"), is_interrupting=False), user("b"), "hs > b > end_h")
        case = ProcessDriver(process(user("a"), handler, "start > a > end")).send("m").send("m")
        assert case.tasks == ["a", "b", "b"]
        assert case.complete("a").status == "active"
        assert case.complete("b").complete("b").status == "completed"

    def test_of_a_sub_process_lives_as_long_as_it(self) -> None:
        handler = event_sub("h", start("hs", duration("PT1H")), user("b"), "hs > b > end_h")
        inner = sub("s", user("a"), handler, "start_in > a > end_in")
        definition = process(inner, user("z"), "start > s > z > end")
        assert ProcessDriver(definition).complete("a").state.get("timers") is None
        assert ProcessDriver(definition).fire("hs").complete("b").tasks == ["z"]

    def test_catches_errors_of_its_scope(self) -> None:
        handler = event_sub("h", start("hs", error("E")), user("b"), "hs > b > end_h")
        inner = sub("s", parallel("p"), user("a"), service("j", "job"), handler,
                    "start_in > p", "p > a > end_in", "p > j > end_j")  # fmt: skip
        case = ProcessDriver(process(inner, "start > s > end"))
        case.do("fail_job", task=case.task("j"), error="no", code="E")
        assert (sorted(case.cancelled), case.tasks) == (["a", "j"], ["b"])
        assert case.complete("b").status == "completed"

    @pytest.mark.parametrize("loop", [None, each(cardinality="1")])
    def test_an_error_in_it_goes_to_the_scope_outside(self, loop: Loop | None) -> None:
        handler = event_sub("h", start("hs", error()), end("he", error("E2")), "hs > he")
        inner = sub("s", end("e", error("E1")), handler, "start_in > e", loop=loop)
        definition = process(inner, boundary("b", "s", error("E2")), user("z"), "start > s > end", "b > z > end2")
        case = ProcessDriver(definition)
        assert (case.tokens, case.walk.count("h")) == (["z"], 1)

    def test_a_cycle_starts_it_again(self) -> None:
        handler = event_sub("h", start("hs", cycle("R2/PT1H"), is_interrupting=False), user("b"), "hs > b > end_h")
        case = ProcessDriver(process(user("a"), handler, "start > a > end")).fire("hs").fire("hs")
        assert (case.tasks, case.state.get("timers")) == (["a", "b", "b"], None)

    @pytest.mark.parametrize(
        "trigger", [cycle("R/P1D"), message("m"), signal("m"), condition("x == 1")], ids=lambda event: event.trigger
    )
    def test_nothing_more_begins_when_the_flow_is_over(self, trigger: BpmnEvent) -> None:
        handler = event_sub("h", start("hs", trigger, is_interrupting=False), user("b"), "hs > b > end_h")
        other = event_sub("o", start("os", message("other"), is_interrupting=False), user("c"), "os > c > end_o")
        case = ProcessDriver(process(user("a"), handler, other, "start > a > end")).send("other").complete("a")
        assert (case.tasks, case.status) == (["c"], "active")
        assert not case.state.keys() & {"timers", "subscriptions", "conditions"}
        assert case.complete("c").status == "completed"

    def test_nor_does_an_escalation_begin_one_then(self) -> None:
        raised = BpmnEvent(Trigger.ESCALATION, name="E")
        caught = event_sub("h", start("hs", raised, is_interrupting=False), user("b"), "hs > b > end_h")
        other = event_sub("o", start("os", message("m"), is_interrupting=False), user("c"), throw("t", raised),
                          "os > c > t > end_o")  # fmt: skip
        definition = process(user("a"), caught, other, "start > a > end")
        assert ProcessDriver(definition).send("m").complete("c").tasks == ["a", "b"]
        assert ProcessDriver(definition).send("m").complete("a").complete("c").status == "completed"

    def test_while_a_token_is_on_its_way_others_begin(self) -> None:
        handler = event_sub("h", start("hs", message("m"), is_interrupting=False), user("b"), "hs > b > end_h")
        fork = process(parallel("p"), user("a"), user("z"), handler, "start > p", "p > a > end", "p > z > end2")
        assert ProcessDriver(fork).send("m").complete("a").send("m").tasks == ["z", "b", "b"]

    def test_one_that_an_earlier_release_kept_armed_begins_nothing(self) -> None:
        handler = event_sub("h", start("hs", cycle("R/P1D"), is_interrupting=False), user("b"), "hs > b > end_h")
        case = ProcessDriver(process(user("a"), handler, "start > a > end")).fire("hs")
        timers = case.state["timers"]
        case.complete("a").state["timers"] = timers
        assert (case.fire("hs").tasks, case.state.get("timers")) == (["b"], None)
        assert case.complete("b").status == "completed"

    def test_a_condition_that_becomes_true_beside_another_with_the_last_step_still_counts(self) -> None:
        other = event_sub("o", start("os", message("m"), is_interrupting=False), user("c"), "os > c > end_o")
        handler = event_sub("h", start("hs", condition("x == 1"), is_interrupting=False), user("b"), "hs > b > end_h")
        definition = process(user("a"), script("t", x="1"), handler, other, "start > a > t")
        case = ProcessDriver(definition).send("m").complete("a")
        assert (case.tasks, case.state.get("conditions")) == (["c", "b"], None)

    def test_a_condition_that_becomes_true_with_the_last_step_still_counts(self) -> None:
        handler = event_sub("h", start("hs", condition("x == 1")), user("b"), "hs > b > end_h")
        case = ProcessDriver(process(user("a"), script("t", x="1"), handler, "start > a > t")).complete("a")
        assert case.tasks == ["b"]

    def test_a_signal_from_outside(self) -> None:
        handler = event_sub("h", start("hs", signal("s")), "hs > end_h")
        assert ProcessDriver(process(user("a"), handler, "start > a > end")).event("hs").status == "completed"


class TestCallActivity:
    CALLED = process(script("t", y="x + 1"), user("b"), "start > t > b > end", key="Q")

    def test_runs_inside_the_state_with_a_copy_and_gives_back_what_it_wrote(self) -> None:
        case = ProcessDriver(process(call("c", "Q"), user("z"), "start > c > z > end"), self.CALLED, x=1)
        scope = next(scope for scope in case.state["scopes"].values() if scope["token"])
        assert (scope["definition"], scope["variables"]) == (["Q", 1], {"x": 1, "y": 2})
        assert case.variables == {"x": 1}
        case.do("set_variables", variables={"x": 7})
        case.complete("b", w=3)
        assert (case.tasks, case.variables) == (["z"], {"x": 7, "y": 2, "w": 3})

    def test_remembers_the_revision_it_began_with(self) -> None:
        case = ProcessDriver(process(call("c", "Q"), "start > c > end"), self.CALLED, x=1)
        case.asked.clear()
        case.complete("b")
        assert case.asked == [("Q", 1), ("P", 1)]

    def test_an_error_in_it_is_caught_at_the_call(self) -> None:
        called = process(end("e", error("E")), "start > e", key="Q")
        definition = process(
            call("c", "Q"), boundary("b", "c", error("E")), user("z"), "start > c > end", "b > z > end2"
        )
        assert ProcessDriver(definition, called).tokens == ["z"]

    def test_calls_are_not_endless(self) -> None:
        with pytest.raises(CommandFailed, match="More than 20"):
            ProcessDriver(process(call("c", "P"), "start > c > end"))

    def test_what_is_not_there_cannot_be_called(self) -> None:
        with pytest.raises(CommandFailed, match="no definition Q"):
            ProcessDriver(process(call("c", "Q"), "start > c > end"))

    def test_one_for_each_item(self) -> None:
        called = process(user("b"), "start > b > end", key="Q")
        case = ProcessDriver(process(call("c", "Q", loop=each("xs", item="x")), "start > c > end"), called, xs=[1, 2])
        assert case.tasks == ["b", "b"]
        assert case.complete("b", x=9).complete("b").variables == {"xs": [1, 2]}
        assert case.status == "completed"
