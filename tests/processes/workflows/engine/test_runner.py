"""What an instance does as a whole: variables set from outside, suspended, resumed, terminated; and its limits."""

from typing import Any

import pytest

from processes.workflows.engine.cases import items
from processes.workflows.engine.cmmn.parser import parse_cmmn
from processes.workflows.engine.definition import NodeKind
from processes.workflows.engine.execution import calls, limits, unit_of_work
from processes.workflows.engine.runner import CommandFailed, CommandRejected, run_command
from tests.processes.workflows.engine.builder import (
    boundary,
    call,
    catch,
    condition,
    duration,
    each,
    message,
    node,
    parallel,
    process,
    script,
    service,
    sub,
    user,
)
from tests.processes.workflows.engine.cmmn.source_files import wrap
from tests.processes.workflows.engine.process_driver import START, ProcessDriver

ONE_TASK = process(user("a"), "start > a > end")


class TestRunCommand:
    def test_starts_once(self) -> None:
        case = ProcessDriver(ONE_TASK)
        with pytest.raises(CommandRejected, match="started already"):
            case.do("start", definition=["P", 1])
        with pytest.raises(CommandRejected, match="not been started"):
            run_command(case.library, None, {"command": "resume"}, START)

    def test_knows_no_other_commands(self) -> None:
        with pytest.raises(CommandRejected, match="does not support the command dance"):
            ProcessDriver(ONE_TASK).do("dance")
        with pytest.raises(CommandRejected, match="no longer exists"):
            ProcessDriver(ONE_TASK).do("occur", item="x")

    def test_a_finished_instance_takes_nothing_more(self) -> None:
        case = ProcessDriver(ONE_TASK, x=1).complete("a")
        for command in ("set_variables", "suspend", "resume", "terminate", "complete_task"):
            with pytest.raises(CommandRejected, match="completed"):
                case.do(command)
        assert case.variables == {"x": 1}

    def test_effects_have_the_same_ids_when_the_command_is_run_again(self) -> None:
        case = ProcessDriver(
            process(user("a"), service("s", "event"), service("t", "alert"), "start > a > s > t > end")
        )
        command = {"command": "complete_task", "task": case.task("a")}
        one, other = (run_command(case.library, case.state, command, START) for _ in range(2))
        assert one == other
        assert len({effect["id"] for effect in one.effects}) == 2

    def test_sections_that_nothing_changed_are_shared(self) -> None:
        case = ProcessDriver(
            process(parallel("p"), user("a"), catch("t", duration("PT1H")), "start > p", "p > a", "p > t")
        )
        outcome = run_command(case.library, case.state, {"command": "complete_task", "task": case.task("a")}, START)
        assert outcome.state["timers"] is case.state["timers"]


class TestSuspend:
    def test_only_some_commands_are_possible(self) -> None:
        case = ProcessDriver(process(user("a"), boundary("t", "a", duration("PT1H")), boundary("m", "a", message("m")),
                            "start > a > end", "t > end2", "m > end3"))  # fmt: skip
        case.do("suspend")
        assert case.status == "suspended"
        for command in ("complete_task", "fire_timer", "send_message", "event", "complete_job", "fail_job"):
            with pytest.raises(CommandRejected, match="suspended"):
                case.do(command)
        case.do("resume")
        assert case.complete("a").status == "completed"

    def test_what_became_true_meanwhile_happens_on_resume(self) -> None:
        case = ProcessDriver(process(catch("c", condition("x")), "start > c > end"))
        case.do("suspend")
        case.do("set_variables", variables={"x": True})
        assert case.tokens == ["c"]
        case.do("resume")
        assert case.status == "completed"

    @pytest.mark.parametrize("command", ["suspend", "resume"])
    def test_is_not_done_twice(self, command: str) -> None:
        case = ProcessDriver(ONE_TASK)
        if command == "suspend":
            case.do("suspend")
        with pytest.raises(CommandRejected):
            case.do(command)


class TestTerminate:
    @pytest.mark.parametrize("is_suspended", [False, True])
    def test_cancels_everything(self, is_suspended: bool) -> None:
        inner = sub("s", user("a", loop=each(cardinality="2")), "start_in > a > end_in")
        case = ProcessDriver(process(inner, boundary("t", "s", duration("PT1H")), "start > s > end", "t > end2"), x=1)
        if is_suspended:
            case.do("suspend")
        case.do("terminate")
        assert (case.status, case.variables, case.cancelled) == ("terminated", {"x": 1}, ["a", "a", "s"])


class TestLimits:
    def test_variables_take_no_more_than_a_megabyte(self) -> None:
        case = ProcessDriver(ONE_TASK, x="y" * 600_000)
        with pytest.raises(CommandFailed, match="more than 1000000 bytes"):
            case.do("set_variables", variables={"z": "y" * 600_000})
        case.do("set_variables", variables={"x": "", "z": "y" * 600_000})

    def test_what_an_expression_makes_of_them_counts_as_it_would_be_written(self) -> None:
        definition = process(script("s", y="[x, x, x, x]"), "start > s > end")
        with pytest.raises(CommandFailed, match="bytes"):
            ProcessDriver(definition, x=["y" * 1000] * 300)

    def test_values_are_not_nested_without_end(self) -> None:
        definition = process(script("s", x="[x]"), "start > s > s")
        with pytest.raises(CommandFailed, match="bytes"):
            ProcessDriver(definition)

    @pytest.mark.parametrize("value", [float("nan"), 2**70, {1: 2}, {"a": {3}}, "\ud800"])
    def test_values_are_json(self, value: Any) -> None:
        with pytest.raises(CommandRejected, match="JSON"):
            ProcessDriver(ONE_TASK).do("set_variables", variables={"x": value})

    def test_tokens_are_counted(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(unit_of_work, "MAX_TOKENS", 10)
        ProcessDriver(process(user("a", loop=each(cardinality="9")), "start > a > end"))
        with pytest.raises(CommandFailed, match="10 tokens"):
            ProcessDriver(process(user("a", loop=each(cardinality="10")), "start > a > end"))

    def test_tokens_that_multiply_in_a_circle_are_cut(self) -> None:
        with pytest.raises(CommandFailed):
            ProcessDriver(process(node(NodeKind.TASK, "a"), "start > a", "a > a", "a > a"))

    def test_copies_for_calls_and_inputs_count(self) -> None:
        with pytest.raises(CommandFailed, match="bytes"):
            ProcessDriver(
                process(service("s", "job", {"x": "x"}, loop=each(cardinality="20")), "start > s > end"), x="y" * 90_000
            )

    def test_effects_of_one_command_are_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "MAX_EFFECTS", 1000)
        with pytest.raises(CommandFailed, match="effects of one command"):
            ProcessDriver(process(service("s", "event", loop=each(cardinality="20")), "start > s > end"), x="y" * 90)

    def test_names_have_a_length(self) -> None:
        case = ProcessDriver(ONE_TASK)
        case.do("set_variables", variables={"x" * limits.MAX_NAME: 1})
        with pytest.raises(CommandRejected, match="cannot be the name"):
            case.do("set_variables", variables={"x" * (limits.MAX_NAME + 1): 1})

    def test_values_have_a_depth(self) -> None:
        deepest: list[Any] = []
        for _ in range(limits.MAX_DEPTH - 1):
            deepest = [deepest]
        case = ProcessDriver(ONE_TASK, x=deepest)
        with pytest.raises(CommandRejected, match="nested too deeply"):
            case.do("set_variables", variables={"x": [deepest]})

    def test_so_many_call_one_another(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(calls, "MAX_CALLS", 2)
        chain = [process(call("c", f"Q{number + 1}"), "start > c > end", key=f"Q{number}") for number in range(3)]
        last = process(user("a"), "start > a > end", key="Q3")
        assert ProcessDriver(*chain[1:], last).tasks == ["a"]
        with pytest.raises(CommandFailed, match="More than 2 processes and cases"):
            ProcessDriver(*chain, last)

    def test_so_many_items_of_cases(self, monkeypatch: pytest.MonkeyPatch) -> None:
        definition, begin = parse_cmmn(wrap("")), {"command": "start", "definition": ["c", 1], "record": "r"}
        monkeypatch.setattr(items, "MAX_ITEMS", 2)  # the plan and its task
        assert run_command(lambda key, revision: (definition, 1), None, begin, START).state
        monkeypatch.setattr(items, "MAX_ITEMS", 1)
        with pytest.raises(CommandFailed, match="more than 1 items"):
            run_command(lambda key, revision: (definition, 1), None, begin, START)

    def test_a_weight_is_about_that_of_json(self) -> None:
        assert limits.estimate_size({"name": ["ab", {"c": None}], "x": "é"}) in range(30, 60)
