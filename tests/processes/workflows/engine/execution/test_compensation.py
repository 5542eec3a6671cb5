from typing import Any

import pytest

from processes.workflows.engine.definition import NodeKind
from processes.workflows.engine.runner import CommandFailed
from tests.processes.workflows.engine.builder import (
    Part,
    boundary,
    call,
    compensation,
    each,
    end,
    error,
    event_sub,
    message,
    node,
    process,
    script,
    service,
    start,
    sub,
    throw,
    user,
)
from tests.processes.workflows.engine.process_driver import ProcessDriver


def undone_by(key: str, handler: str, **more: Any) -> Part:
    return node(NodeKind.TASK, key, compensated_by=handler, **more)


def undo(key: str, kind: NodeKind = NodeKind.TASK, **more: Any) -> Part:
    return node(kind, key, is_for_compensation=True, **more)


class TestThrow:
    def test_undoes_what_was_done_the_last_thing_first(self) -> None:
        definition = process(
            undone_by("a", "ua"), undone_by("b", "ub"), undone_by("never", "un"), undo("ua"), undo("ub"), undo("un"),
            throw("t", compensation()), user("z"), "start > a > b > t > z > end", "never > end2",
        )  # fmt: skip
        case = ProcessDriver(definition, start="start")
        assert case.walk == ["start", "a", "b", "t", "ub", "ua", "z"]
        assert case.state.get("compensations") is None

    def test_waits_for_each_handler(self) -> None:
        definition = process(
            undone_by("a", "ua"), undone_by("b", "ub"), undo("ua", NodeKind.USER_TASK), undo("ub", NodeKind.USER_TASK),
            throw("t", compensation()), "start > a > b > t > end",
        )  # fmt: skip
        case = ProcessDriver(definition)
        assert (case.tokens, case.tasks) == (["t", "ub"], ["ub"])
        assert case.complete("ub").tasks == ["ua"]
        assert case.complete("ua").status == "completed"
        assert case.trace == (("leave", "ua"), ("leave", "t"), ("enter", "end"), ("leave", "end"))

    def test_of_one_activity_leaves_the_others(self) -> None:
        definition = process(
            undone_by("a", "ua"), undone_by("b", "ub"), undo("ua"), undo("ub"),
            throw("t", compensation("a")), user("z"), "start > a > b > t > z > end",
        )  # fmt: skip
        case = ProcessDriver(definition)
        assert case.walk == ["start", "a", "b", "t", "ua", "z"]
        assert [entry["element"] for entry in case.state["compensations"]] == ["b"]

    def test_with_nothing_done_passes(self) -> None:
        assert ProcessDriver(process(throw("t", compensation()), "start > t > end")).status == "completed"

    def test_at_an_end(self) -> None:
        definition = process(undone_by("a", "ua"), undo("ua"), end("e", compensation()), "start > a > e")
        case = ProcessDriver(definition)
        assert (case.walk, case.status) == (["start", "a", "e", "ua"], "completed")

    def test_undoes_each_round_with_what_it_had(self) -> None:
        definition = process(
            undone_by("a", "ua", loop=each("xs", item="x")), undo("ua", NodeKind.USER_TASK), throw("t", compensation()),
            "start > a > t > end",
        )  # fmt: skip
        case = ProcessDriver(definition, xs=["p", "q"])
        seen = []
        while case.status == "active":
            scope = case.state["tasks"][case.task("ua")]["scope"]
            seen.append(case.state["scopes"][scope]["variables"])
            case.complete("ua")
        assert seen == [{"loopCounter": 2, "x": "q"}, {"loopCounter": 1, "x": "p"}]

    def test_an_activity_that_was_cancelled_is_not_undone(self) -> None:
        definition = process(
            user("a", compensated_by="ua"), undo("ua"), boundary("m", "a", message("m")), throw("t", compensation()),
            "start > a > end", "m > t > end2",
        )  # fmt: skip
        assert ProcessDriver(definition).send("m").walk == ["m", "t", "end2"]

    def test_an_error_of_a_handler_goes_outwards_from_the_thrower(self) -> None:
        inner = sub(
            "s", undone_by("a", "ua"), undo("ua", NodeKind.SERVICE_TASK, handler="job"), throw("t", compensation()),
            "start_in > a > t > end_in",
        )  # fmt: skip
        case = ProcessDriver(
            process(inner, boundary("b", "s", error("E")), user("z"), "start > s > end", "b > z > end2")
        )
        case.do("fail_job", task=case.task("ua"), error="no", code="E")
        assert (case.tokens, case.state.get("undoing")) == (["z"], None)

    def test_goes_the_way_of_a_boundary_event_of_a_handler(self) -> None:
        definition = process(
            undone_by("a", "ua"), undo("ua", NodeKind.USER_TASK), boundary("m", "ua", message("m")), user("b"),
            throw("t", compensation()), "start > a > t > end", "m > b",
        )  # fmt: skip
        case = ProcessDriver(definition).send("m")
        assert case.tokens == ["b", "t"]
        assert case.complete("b").status == "completed"

    def test_that_is_interrupted_is_forgotten(self) -> None:
        stop = event_sub("h", start("hs", message("stop")), "hs > end_h")
        definition = process(
            undone_by("a", "ua"), undone_by("b", "ub"), undo("ua"), undo("ub", NodeKind.USER_TASK),
            throw("t", compensation()), stop, "start > a > b > t > end",
        )  # fmt: skip
        assert ProcessDriver(definition).send("stop").status == "completed"

    def test_a_loop_in_a_handler_is_undone_before_the_next(self) -> None:
        definition = process(
            undone_by("a", "ua"), undone_by("b", "ub"), undo("ua"),
            undo("ub", NodeKind.USER_TASK, loop=each(cardinality="2")), throw("t", compensation()),
            "start > a > b > t > end",
        )  # fmt: skip
        case = ProcessDriver(definition)
        assert case.complete("ub").tokens == ["t", "ub", "ub"]
        assert case.complete("ub").walk == ["ua", "end"]


class TestSubProcess:
    INNER = sub("s", user("w"), undone_by("a", "ua"), undone_by("b", "ub"), undo("ua"), undo("ub"),
                "start_in > w > a > b > end_in")  # fmt: skip

    def test_that_is_done_is_undone_by_its_parts(self) -> None:
        definition = process(self.INNER, undone_by("c", "uc"), undo("uc"), throw("t", compensation()),
                             "start > s > c > t > end")  # fmt: skip
        case = ProcessDriver(definition).complete("w")
        assert case.walk == ["a", "b", "end_in", "c", "t", "uc", "ub", "ua", "end"]
        assert case.status == "completed"

    def test_by_its_name(self) -> None:
        case = ProcessDriver(process(self.INNER, throw("t", compensation("s")), "start > s > t > end")).complete("w")
        assert case.walk[-3:] == ["ub", "ua", "end"]

    def test_that_still_runs_is_not_undone(self) -> None:
        definition = process(self.INNER, boundary("m", "s", message("m")), throw("t", compensation()),
                             "start > s > end", "m > t > end2")  # fmt: skip
        assert ProcessDriver(definition).send("m").walk == ["m", "t", "end2"]

    def test_what_was_done_in_one_that_was_cancelled_is_forgotten(self) -> None:
        inner = sub("s", undone_by("a", "ua", loop=each("xs", item="x")), undo("ua"), user("w"), "start_in > a > w")
        definition = process(inner, boundary("m", "s", message("m")), user("z"), "start > s > end", "m > z > end2")
        case = ProcessDriver(definition, xs=["p"])
        assert len(case.state["compensations"]) == 1
        assert case.send("m").state.get("compensations") is None

    def test_a_handler_of_its_own_takes_precedence(self) -> None:
        inner = sub("s", undone_by("a", "ua"), undo("ua"), "start_in > a > end_in", compensated_by="us")
        definition = process(inner, undo("us"), throw("t", compensation()), "start > s > t > end")
        assert ProcessDriver(definition).walk[-2:] == ["us", "end"]

    def test_an_event_sub_process_undoes_it_with_what_it_had(self) -> None:
        undoing = event_sub("h", start("hs", compensation()), throw("ht", compensation("a")), user("u"),
                            "hs > ht > u > end_h")  # fmt: skip
        inner = sub("s", undone_by("a", "ua"), undo("ua"), undoing, "start_in > a > end_in", loop=each("xs", item="x"))
        case = ProcessDriver(process(inner, throw("t", compensation()), "start > s > t > end"), xs=["p"])
        assert case.walk[-6:] == ["t", "h", "hs", "ht", "ua", "u"]
        assert any(scope["variables"].get("x") == "p" for scope in case.state["scopes"].values())
        assert case.complete("u").status == "completed"

    def test_what_an_error_handler_undoes_is_its_scope(self) -> None:
        handler = event_sub("h", start("hs", error()), throw("t", compensation()), "hs > t > end_h")
        definition = process(undone_by("a", "ua"), undo("ua"), end("e", error("E")), handler, "start > a > e")
        case = ProcessDriver(definition)
        assert case.walk == ["start", "a", "e", "h", "hs", "t", "ua", "end_h"]
        assert case.status == "completed"

    def test_a_called_process_is_undone_by_its_parts(self) -> None:
        handler = undo("ua", NodeKind.SCRIPT_TASK)
        called = process(script("x", n="41"), undone_by("a", "ua"), handler, "start > x > a > end", key="Q")
        definition = process(call("c", "Q"), throw("t", compensation()), user("z"), "start > c > t > z > end")
        assert ProcessDriver(definition, called).walk == ["start", "c", "start", "x", "a", "end", "t", "ua", "z"]

    def test_an_event_sub_process_undoes_a_called_process(self) -> None:
        undoing = event_sub("h", start("hs", compensation()), user("u"), "hs > u > end_h")
        called = process(undone_by("a", "ua"), undo("ua"), undoing, "start > a > end", key="Q")
        case = ProcessDriver(process(call("c", "Q"), throw("t", compensation()), "start > c > t > end"), called)
        assert case.walk[-4:] == ["t", "h", "hs", "u"]
        assert case.complete("u").status == "completed"


class TestLog:
    def test_does_not_grow_without_end(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("processes.workflows.engine.execution.compensation.MAX_ENTRIES", 2)
        definition = process(undone_by("a", "ua"), undo("ua"), service("j", "job"), "start > a > j > a")
        case = ProcessDriver(definition).complete("j")
        with pytest.raises(CommandFailed, match="could be compensated"):
            case.complete("j")
