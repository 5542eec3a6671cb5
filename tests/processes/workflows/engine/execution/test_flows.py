"""Tasks, starts and ends, the flows between them, and gateways."""

import pytest

from processes.workflows.engine.definition import BpmnEvent, NodeKind
from processes.workflows.engine.runner import CommandFailed, CommandRejected
from tests.processes.workflows.engine.builder import (
    Part,
    assignments,
    boundary,
    call,
    catch,
    condition,
    duration,
    event_sub,
    exclusive,
    inclusive,
    message,
    node,
    parallel,
    process,
    script,
    service,
    signal,
    start,
    sub,
    user,
)
from tests.processes.workflows.engine.process_driver import START, ProcessDriver


class TestStart:
    def test_passes_to_the_first_task(self) -> None:
        case = ProcessDriver(process(user("a", name="Approve"), "start > a > end"), x=1)
        assert case.trace == (("enter", "start"), ("leave", "start"), ("enter", "a"))
        [(key, task)] = case.state["tasks"].items()
        assert (task["kind"], task["name"], task["since"]) == ("user", "Approve", START.isoformat())
        assert key.startswith("0.")
        assert case.variables == {"x": 1}

    def test_begins_where_it_is_told(self) -> None:
        definition = process(start("begun", message("m")), user("a"), user("b"), "start > a > end", "begun > b > end")
        assert ProcessDriver(definition, start="begun").tasks == ["b"]

    def test_needs_one_plain_start(self) -> None:
        with pytest.raises(CommandRejected, match="exactly one"):
            ProcessDriver(process(start("begun", message("m")), user("a"), "begun > a > end"))

    def test_a_process_of_conditional_starts_begins_where_the_condition_holds(self) -> None:
        starts = (start("hot", condition("t > 30")), start("cold", condition("t < 0")))
        definition = process(*starts, user("a"), user("b"), "hot > a > end", "cold > b > end")
        assert [ProcessDriver(definition, t=t).tasks for t in (40, -1)] == [["a"], ["b"]]
        with pytest.raises(CommandRejected, match="The condition of no start event holds"):
            ProcessDriver(definition, t=5)
        with pytest.raises(CommandRejected, match="The condition of no start event holds"):
            ProcessDriver(definition)

    def test_without_start_events_begins_with_what_nothing_leads_to(self) -> None:
        assert ProcessDriver(process(user("a"), user("b"), user("c"), "a > c", "b > c")).tasks == ["a", "b"]

    def test_refuses_what_is_no_start(self) -> None:
        with pytest.raises(CommandRejected, match="no start event"):
            ProcessDriver(process(user("a"), "start > a > end"), start="a")

    @pytest.mark.parametrize("name", ["", "a b", "1st", "a.b", "x" * 101])
    def test_refuses_names_that_no_expression_can_read(self, name: str) -> None:
        with pytest.raises(CommandRejected, match="name of a variable"):
            ProcessDriver(process(user("a"), "start > a > end")).do("set_variables", variables={name: 1})


class TestTasks:
    def test_user_and_manual_tasks_wait_and_plain_tasks_pass(self) -> None:
        case = ProcessDriver(
            process(node(NodeKind.TASK, "t"), node(NodeKind.MANUAL_TASK, "m"), user("u"), "start > t > m > u > end")
        )
        assert case.walk == ["start", "t", "m"]
        assert case.complete("m").complete("u").status == "completed"
        assert case.trace == (("leave", "u"), ("enter", "end"), ("leave", "end"))

    def test_variables_of_a_completed_task_are_written(self) -> None:
        case = ProcessDriver(process(user("a"), "start > a > end"), x=1, y=2).complete("a", x=5, z=[1])
        assert case.variables == {"x": 5, "y": 2, "z": [1]}

    def test_a_task_is_completed_once(self) -> None:
        case = ProcessDriver(process(user("a"), user("b"), "start > a > b > end"))
        task = case.task("a")
        case.complete("a")
        with pytest.raises(CommandRejected, match="not open"):
            case.do("complete_task", task=task)

    def test_an_external_task_is_not_completed_by_hand(self) -> None:
        case = ProcessDriver(process(service("s", "external"), "start > s > end"))
        with pytest.raises(CommandRejected, match="cannot be completed by this command"):
            case.do("complete_task", task=case.task("s"))

    def test_a_script_assigns_one_after_the_other(self) -> None:
        case = ProcessDriver(process(script("s", y="x + 1", z="y * 2"), "start > s > end"), x=1)
        assert (case.status, case.variables) == ("completed", {"x": 1, "y": 2, "z": 4})

    def test_a_script_that_cannot_be_evaluated_fails_at_its_element(self) -> None:
        with pytest.raises(CommandFailed, match=r"^s: "):
            ProcessDriver(process(script("s", y="x + 1"), "start > s > end"), x="text")


class TestHandlers:
    def test_an_effect_is_given_and_the_token_goes_on(self) -> None:
        case = ProcessDriver(process(service("s", "webhook", {"a": "x + 1"}, topic="t"), "start > s > end"), x=1)
        [effect] = case.effects
        assert effect == {"id": effect["id"], "kind": "webhook", "element": "s", "name": "t", "inputs": {"a": 2}}
        assert case.status == "completed"

    def test_without_inputs_it_is_given_every_variable_as_it_was(self) -> None:
        before, after = script("before", x="x + 1"), script("after", x="x + 1")
        case = ProcessDriver(process(before, service("s", "event"), after, "start > before > s > after > end"), x=1)
        assert case.effects[0]["inputs"] == {"x": 2}
        assert case.variables == {"x": 3}

    @pytest.mark.parametrize(("handler", "kind"), [("external", "external"), ("recount", "job")])
    def test_work_for_others_waits(self, handler: str, kind: str) -> None:
        case = ProcessDriver(process(service("s", handler, {"a": "x"}, topic="t"), "start > s > end"), x=1)
        task = case.state["tasks"][case.task("s")]
        assert (task["kind"], task["inputs"]) == (kind, {"a": 1})
        assert case.complete("s", y=2).variables == {"x": 1, "y": 2}
        assert case.status == "completed"

    def test_work_that_failed_for_good_leaves_nothing(self) -> None:
        case = ProcessDriver(process(service("s", "external"), "start > s > end"))
        with pytest.raises(CommandFailed, match="s: no route"):
            case.do("fail_job", task=case.task("s"), error="no route")

    @pytest.mark.parametrize(("inputs", "carried"), [({}, {}), ({"a": "x + 1"}, {"a": 2})])
    def test_a_send_task_throws_its_message_with_what_the_file_maps(
        self, inputs: dict[str, str], carried: dict[str, int]
    ) -> None:
        sent = node(NodeKind.SEND_TASK, "s", event=message("m"), inputs=assignments(inputs))
        [effect] = ProcessDriver(process(sent, "start > s > end"), x=1).effects
        assert (effect["kind"], effect["name"], effect["inputs"]) == ("throw", "m", carried)


class TestFlows:
    def test_several_flows_out_of_a_task_split(self) -> None:
        case = ProcessDriver(process(user("a"), user("b"), user("c"), "start > a", "a > b > end", "a > c > end2"))
        assert case.complete("a").tasks == ["b", "c"]
        assert case.complete("c").complete("b").status == "completed"

    def test_conditions_on_flows_out_of_a_task_are_asked_one_by_one(self) -> None:
        definition = process(
            user("a"), user("b"), user("c"), user("d"), "start > a", "a > b : x > 1", "a > c : x > 2", "a > d default"
        )
        assert ProcessDriver(definition, x=2).complete("a").tasks == ["b"]
        assert ProcessDriver(definition, x=3).complete("a").tasks == ["b", "c"]
        assert ProcessDriver(definition, x=0).complete("a").tasks == ["d"]

    def test_no_flow_to_take_fails(self) -> None:
        case = ProcessDriver(process(user("a"), user("b"), "start > a", "a > b : x > 1"), x=1)
        with pytest.raises(CommandFailed, match="No outgoing flow"):
            case.complete("a")

    def test_an_endless_circle_is_cut(self) -> None:
        with pytest.raises(CommandFailed, match="more than 10000 elements"):
            ProcessDriver(process(node(NodeKind.TASK, "a"), node(NodeKind.TASK, "b"), "start > a > b > a"))


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


class TestStuck:
    """An exclusive choice into a parallel join: of two tokens that it waits for, one comes."""

    CHOICE = (exclusive("x"), parallel("join"), "start > x", "x > join : left", "x > join default", "join > end")

    def test_what_can_never_move_again_fails_at_its_join(self) -> None:
        with pytest.raises(CommandFailed, match=r"^join: Nothing in the instance can move any more: .*“x”"):
            ProcessDriver(process(*self.CHOICE), left=True)

    def test_says_so_when_the_last_thing_that_moved_is_done(self) -> None:
        definition = process(parallel("p"), user("a"), *self.CHOICE[:2], "start > p", "p > a > end_a", "p > x",
                             *self.CHOICE[3:])  # fmt: skip
        case = ProcessDriver(definition, left=True)
        assert case.tokens == ["a", "join"]
        with pytest.raises(CommandFailed, match=r"^join: "):
            case.complete("a")

    def test_in_a_sub_process_and_a_called_process_too(self) -> None:
        inner = sub("s", *self.CHOICE[:2], "start_s > x", *self.CHOICE[3:5], "join > end_s")
        with pytest.raises(CommandFailed, match=r"^join: "):
            ProcessDriver(process(inner, "start > s > end"), left=True)
        with pytest.raises(CommandFailed, match=r"^join: "):
            ProcessDriver(process(call("c", "Q"), "start > c > end"), process(*self.CHOICE, key="Q"), left=True)

    @pytest.mark.parametrize(
        "waits",
        [user("w"), service("w", "external"), service("w", "job"), catch("w", duration("PT1H")),
         catch("w", message("m")), catch("w", signal("m")), catch("w", condition("y")),
         node(NodeKind.RECEIVE_TASK, "w", event=message("m")), call("w", "Q")],
        ids=["user", "external", "job", "timer", "message", "signal", "condition", "receive", "call"],
    )  # fmt: skip
    def test_whatever_waits_beside_it_can_move(self, waits: Part) -> None:
        definition = process(parallel("p"), waits, *self.CHOICE[:2], "start > p", "p > w > end_w", "p > x",
                             *self.CHOICE[3:])  # fmt: skip
        case = ProcessDriver(definition, process(user("b"), "start > b > end", key="Q"), left=True)
        assert "join" in case.tokens

    @pytest.mark.parametrize("event", [duration("PT1H"), message("m"), signal("m"), condition("y")])
    def test_an_event_around_it_can_end_it(self, event: BpmnEvent) -> None:
        inner = sub("s", *self.CHOICE[:2], "start_s > x", *self.CHOICE[3:5], "join > end_s")
        out = boundary("b", "s", event)
        assert ProcessDriver(process(inner, out, "start > s > end", "b > end_b"), left=True).tokens == ["join", "s"]
        handler = event_sub("h", start("hs", event), "hs > end_h")
        assert ProcessDriver(process(*self.CHOICE, handler), left=True).tokens == ["join"]


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
