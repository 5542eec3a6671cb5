import pytest

from processes.workflows.engine.definition import NodeKind
from processes.workflows.engine.runner import CommandFailed
from tests.processes.workflows.engine.builder import (
    boundary,
    duration,
    exclusive,
    inclusive,
    node,
    parallel,
    process,
    user,
)
from tests.processes.workflows.engine.process_driver import ProcessDriver


class TestExclusive:
    DEFINITION = process(
        exclusive("g"),
        user("a"),
        user("b"),
        user("c"),
        exclusive("m"),
        "start > g",
        "g > a : x > 10",
        "g > b : x > 5",
        "g > c default",
        "a > m",
        "b > m",
        "c > m > end",
    )

    @pytest.mark.parametrize(("x", "task"), [(11, "a"), (6, "b"), (1, "c")])
    def test_takes_the_first_flow_that_holds(self, x: int, task: str) -> None:
        case = ProcessDriver(self.DEFINITION, x=x)
        assert case.tasks == [task]
        assert case.complete(task).status == "completed"
        assert case.walk == ["m", "end"]

    def test_passes_every_token_on(self) -> None:
        case = ProcessDriver(process(parallel("p"), exclusive("m"), user("a"), "start > p", "p > m > a > end", "p > m"))
        assert case.tasks == ["a", "a"]

    def test_with_nowhere_to_go_fails(self) -> None:
        with pytest.raises(CommandFailed, match="g: No outgoing"):
            ProcessDriver(process(exclusive("g"), "start > g", "g > end : x == 1"), x=2)


class TestParallel:
    DEFINITION = process(
        parallel("fork"), parallel("join"), user("a"), user("b"), user("c"),
        "start > fork", "fork > a > join", "fork > b > join", "join > c > end",
    )  # fmt: skip

    def test_waits_for_every_flow(self) -> None:
        case = ProcessDriver(self.DEFINITION)
        assert case.trace[2:] == (("enter", "fork"), ("leave", "fork"), ("enter", "a"), ("enter", "b"))
        assert case.complete("b").tokens == ["a", "join"]
        assert case.complete("a").tasks == ["c"]
        assert case.complete("c").status == "completed"

    def test_two_tokens_of_one_flow_do_not_open_it(self) -> None:
        definition = process(
            parallel("fork"), exclusive("m"), parallel("join"), user("a"), user("b"),
            "start > fork", "fork > m", "fork > m", "fork > a > join", "m > join", "join > b > end",
        )  # fmt: skip
        case = ProcessDriver(definition)
        assert case.tokens == ["a", "join", "join"]
        assert case.complete("a").tokens == ["b", "join"]


class TestInclusive:
    DEFINITION = process(
        inclusive("fork"), inclusive("join"), user("a"), user("b"), user("c"), user("z"),
        "start > fork", "fork > a > join : true", "fork > b > join", "fork > c default", "c > join", "join > z > end",
    )  # fmt: skip

    def test_the_default_is_taken_alone(self) -> None:
        definition = process(
            inclusive("fork"), user("a"), user("b"), user("c"),
            "start > fork", "fork > a : x > 1", "fork > b : x > 2", "fork > c default",
        )  # fmt: skip
        assert [ProcessDriver(definition, x=x).tasks for x in (1, 2, 3)] == [["c"], ["a"], ["a", "b"]]

    def test_waits_for_what_was_started_alone(self) -> None:
        case = ProcessDriver(self.DEFINITION)
        assert case.tasks == ["a", "b"]
        assert case.complete("a").tokens == ["b", "join"]
        assert case.complete("b").tokens == ["z"]

    def test_opens_when_what_could_come_went_elsewhere(self) -> None:
        definition = process(
            parallel("fork"), exclusive("g"), inclusive("join"), user("a"), user("b"), user("z"),
            "start > fork", "fork > a > join > z > end", "fork > b > g", "g > join : back", "g > end2 default",
        )  # fmt: skip
        case = ProcessDriver(definition).complete("a")
        assert case.tokens == ["b", "join"]
        assert case.complete("b", back=False).tokens == ["z"]
        assert ProcessDriver(definition).complete("a").complete("b", back=True).tokens == ["z"]

    def test_a_token_upstream_of_an_activity_with_a_boundary_event_counts(self) -> None:
        definition = process(
            parallel("fork"), inclusive("join"), user("a"), user("b"), user("z"), boundary("t", "b", duration("PT1H")),
            "start > fork", "fork > a > join > z > end", "fork > b > end2", "t > join",
        )  # fmt: skip
        case = ProcessDriver(definition).complete("a")
        assert case.tokens == ["b", "join"]
        assert case.fire("t").tokens == ["z"]

    def test_flows_that_come_straight_from_a_fork_meet(self) -> None:
        definition = process(
            parallel("fork"), inclusive("join"), user("z"), "start > fork", "fork > join > z", "fork > join"
        )
        assert ProcessDriver(definition).tasks == ["z"]

    def test_does_not_wait_for_what_would_only_come_the_next_time_round(self) -> None:
        definition = process(
            exclusive("m"), parallel("p"), inclusive("f"), inclusive("j"), parallel("q"), exclusive("g"),
            user("a"), user("b"), user("c"), user("z"),
            "start > m > p", "p > f", "f > a > j", "f > b : false", "b > j > z > q", "p > c > q", "q > g",
            "g > m : again", "g > end default",
        )  # fmt: skip
        case = ProcessDriver(definition)
        assert case.tasks == ["c", "a"]
        assert case.complete("a").tokens == ["c", "z"]

    def test_in_a_circle_it_does_not_wait_for_itself(self) -> None:
        definition = process(
            inclusive("join"), node(NodeKind.TASK, "t"), user("a"), exclusive("g"),
            "start > join > t > a > g", "g > join : more", "g > end default",
        )  # fmt: skip
        case = ProcessDriver(definition)
        assert case.complete("a", more=True).tasks == ["a"]
        assert case.complete("a", more=False).status == "completed"

    def test_two_tokens_of_one_flow_pass_one_after_the_other(self) -> None:
        definition = process(
            parallel("fork"), exclusive("m"), inclusive("join"), user("a"), user("b"), user("z"),
            "start > fork", "fork > a > m", "fork > b > m", "m > join", "fork > join", "join > z > end",
        )  # fmt: skip
        case = ProcessDriver(definition)
        case.complete("a")
        case.complete("b")
        assert case.tasks == ["z", "z"]
