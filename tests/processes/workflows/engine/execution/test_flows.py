"""Tasks, starts and ends, and the flows between them."""

import pytest

from processes.workflows.engine.definition import NodeKind
from processes.workflows.engine.runner import CommandFailed, CommandRejected
from tests.processes.workflows.engine.builder import message, node, process, script, service, start, user
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

    def test_a_send_task_throws_its_message(self) -> None:
        case = ProcessDriver(process(node(NodeKind.SEND_TASK, "s", event=message("m")), "start > s > end"), x=1)
        [effect] = case.effects
        assert (effect["kind"], effect["name"], effect["inputs"]) == ("throw", "m", {"x": 1})


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
