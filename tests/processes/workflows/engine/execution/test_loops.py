import pytest

from processes.workflows.engine.definition import NodeKind
from processes.workflows.engine.runner import CommandFailed
from tests.processes.workflows.engine.builder import (
    again,
    boundary,
    each,
    error,
    message,
    node,
    process,
    service,
    sub,
    user,
)
from tests.processes.workflows.engine.process_driver import ProcessDriver


class TestParallelMultiInstance:
    DEFINITION = process(
        user("a", loop=each("xs", item="x", output_collection="ys", output_item="y")), user("z"), "start > a > z > end"
    )

    def test_one_round_for_each_item_at_once(self) -> None:
        case = ProcessDriver(self.DEFINITION, xs=["p", "q", "r"])
        rounds = [scope["variables"] for scope in case.state["scopes"].values() if "round" in scope]
        assert rounds == [{"loopCounter": n, "y": None, "x": x} for n, x in ((1, "p"), (2, "q"), (3, "r"))]
        assert case.tasks == ["a", "a", "a"]

    def test_outputs_are_in_the_order_of_the_rounds(self) -> None:
        case = ProcessDriver(self.DEFINITION, xs=["p", "q"])
        first, second = case.state["tasks"]
        case.do("complete_task", task=second, variables={"y": "Q"})
        assert case.variables == {"xs": ["p", "q"]}
        case.do("complete_task", task=first, variables={"y": "P"})
        assert (case.tasks, case.variables) == (["z"], {"xs": ["p", "q"], "ys": ["P", "Q"]})

    def test_no_items_no_rounds(self) -> None:
        case = ProcessDriver(self.DEFINITION, xs=[])
        assert (case.walk, case.variables) == (["start", "z"], {"xs": [], "ys": []})

    @pytest.mark.parametrize("xs", [None, 3, "text", {"a": 1}])
    def test_what_is_no_list_fails(self, xs: object) -> None:
        with pytest.raises(CommandFailed, match="a: The variable xs is not a list"):
            ProcessDriver(self.DEFINITION, xs=xs)

    def test_ends_early_when_its_condition_holds(self) -> None:
        loop = each("xs", completion="numberOfCompletedInstances >= 2 and nrOfInstances == 3")
        case = ProcessDriver(process(user("a", loop=loop), "start > a > end"), xs=[1, 2, 3]).complete("a").complete("a")
        assert (case.status, case.cancelled) == ("completed", ["a"])

    @pytest.mark.parametrize("count", ["-1", "10001", "1.5", "true", "'3'"])
    def test_a_number_of_rounds_that_cannot_be_fails(self, count: str) -> None:
        with pytest.raises(CommandFailed, match="whole number"):
            ProcessDriver(process(user("a", loop=each(cardinality=count)), "start > a > end"))

    def test_a_boundary_event_is_that_of_the_whole(self) -> None:
        definition = process(user("a", loop=each(cardinality="3")), boundary("m", "a", message("m")), user("z"),
                             "start > a > end", "m > z > end2")  # fmt: skip
        case = ProcessDriver(definition)
        assert len(case.state["subscriptions"]) == 1
        assert case.send("m").cancelled == ["a", "a", "a"]
        assert (case.tasks, case.state.get("loops"), len(case.state["scopes"])) == (["z"], None, 1)

    def test_an_error_in_one_round_ends_the_whole(self) -> None:
        definition = process(service("s", "job", loop=each(cardinality="2")), boundary("b", "s", error()), user("z"),
                             "start > s > end", "b > z > end2")  # fmt: skip
        case = ProcessDriver(definition)
        case.do("fail_job", task=case.task("s"), error="no", code="E")
        assert case.tokens == ["z"]

    def test_rounds_of_a_sub_process_do_not_write_over_each_other(self) -> None:
        inner = sub("s", user("a"), user("b"), "start_in > a > b > end_in",
                    loop=each("xs", item="x", output_collection="ys", output_item="y"))  # fmt: skip
        case = ProcessDriver(process(inner, "start > s > end"), xs=[1, 2])
        case.complete("a", y="first").complete("a", y="second").complete("b").complete("b")
        assert (case.status, case.variables) == ("completed", {"xs": [1, 2], "ys": ["first", "second"]})


class TestSequentialMultiInstance:
    def test_one_round_after_the_other_with_the_items_as_they_were(self) -> None:
        loop = each("xs", is_sequential=True, item="x", output_collection="ys")
        case = ProcessDriver(process(user("a", loop=loop), "start > a > end"), xs=[1, 2, 3])
        assert case.tasks == ["a"]
        case.do("set_variables", variables={"xs": []})
        case.complete("a", x=5).complete("a").complete("a")
        assert (case.status, case.variables["ys"]) == ("completed", [5, 2, 3])

    def test_ends_early_when_its_condition_holds(self) -> None:
        loop = each("xs", is_sequential=True, item="x", completion="x == 2")
        case = ProcessDriver(process(user("a", loop=loop), "start > a > end"), xs=[1, 2, 3]).complete("a").complete("a")
        assert case.status == "completed"

    def test_a_thousand_rounds_in_one_step(self) -> None:
        loop = each(is_sequential=True, cardinality="1000", output_collection="n", output_item="loopCounter")
        case = ProcessDriver(process(node(NodeKind.TASK, "t", loop=loop), "start > t > end"))
        assert len(case.variables["n"]) == 1000


class TestStandardLoop:
    def test_goes_on_while_its_condition_holds(self) -> None:
        case = ProcessDriver(process(user("a", loop=again("more")), "start > a > end")).complete("a", more=True)
        assert (case.tasks, case.trace) == (["a"], (("leave", "a"), ("enter", "a")))
        assert case.complete("a", more=False).status == "completed"

    def test_may_ask_before_the_first_round(self) -> None:
        case = ProcessDriver(process(user("a", loop=again("more", tests_before=True)), "start > a > end"), more=False)
        assert (case.status, case.walk) == ("completed", ["start", "end"])

    def test_ends_at_its_maximum(self) -> None:
        case = (
            ProcessDriver(process(user("a", loop=again("true", maximum=2)), "start > a > end"))
            .complete("a")
            .complete("a")
        )
        assert case.status == "completed"

    def test_counts_its_rounds(self) -> None:
        loop = again("loopCounter < 3")
        case = ProcessDriver(process(user("a", loop=loop), "start > a > end")).complete("a").complete("a").complete("a")
        assert case.status == "completed"
