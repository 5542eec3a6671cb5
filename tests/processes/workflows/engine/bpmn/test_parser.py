"""Each file as a whole: the elements of the contract, and files as other tools write them."""

import pytest

from processes.workflows.engine.definition import NodeKind, TimerKind, Trigger
from tests.processes.workflows.engine.bpmn.source_files import FILES, load


class TestSequence:
    def test_nodes_and_flows_keep_the_order_of_the_file(self) -> None:
        definition = load("sequence")
        assert (definition.key, definition.name, definition.kind) == ("sequence", "One after the other", "bpmn")
        assert definition.scopes["sequence"].nodes == ("begin", "check", "fetch", "note", "done")
        assert list(definition.flows) == ["to_check", "to_fetch", "to_note", "to_done"]

    def test_a_node_knows_its_kind_its_flows_and_its_line(self) -> None:
        node = load("sequence").nodes["fetch"]
        assert (node.kind, node.name, node.line) == (NodeKind.MANUAL_TASK, "Fetch the part", 9)
        assert (node.incoming, node.outgoing) == (("to_fetch",), ("to_note",))


class TestGateways:
    def test_conditions_are_compiled_whichever_way_they_are_marked(self) -> None:
        flows = load("gateways").flows
        assert [flows[key].condition.evaluate({"amount": 500}) for key in ("large", "medium")] == [False, True]

    def test_the_default_flow_has_no_condition(self) -> None:
        definition = load("gateways")
        assert (definition.nodes["size"].default, definition.flows["small"].condition) == ("small", None)


class TestEventBased:
    def test_waits_for_messages_tasks_and_timers(self) -> None:
        nodes = load("event_based").nodes
        events = [nodes[key].event for key in ("answer", "parcel", "late")]
        assert [(event.trigger, event.name) for event in events] == [
            (Trigger.MESSAGE, "answer"),
            (Trigger.MESSAGE, "parcel"),
            (Trigger.TIMER, ""),
        ]

    def test_an_end_can_terminate(self) -> None:
        assert load("event_based").nodes["failed"].event.trigger is Trigger.TERMINATE


class TestTimers:
    def test_literals_are_kept_as_written(self) -> None:
        nodes = load("timers").nodes
        timers = [nodes[key].event.timer for key in ("nightly", "remind", "until")]
        assert [(timer.kind, timer.literal) for timer in timers] == [
            (TimerKind.CYCLE, "R/2030-01-01T02:00:00Z/P1D"),
            (TimerKind.CYCLE, "R3/PT10M"),
            (TimerKind.DATE, "2030-12-31T23:59:59+03:00"),
        ]

    def test_anything_else_is_an_expression(self) -> None:
        timer = load("timers").nodes["give_up"].event.timer
        assert (timer.literal, timer.expression.evaluate({"patience": "PT1H"})) == (None, "PT1H")

    def test_boundaries_hang_on_their_activity(self) -> None:
        definition = load("timers")
        assert definition.boundaries == {"work": ("remind", "give_up")}
        assert [definition.nodes[key].is_interrupting for key in ("remind", "give_up")] == [False, True]


class TestMessages:
    def test_names_come_from_what_is_referred_to(self) -> None:
        nodes = load("messages").nodes
        names = [nodes[key].event.name for key in ("lost", "alarm", "look", "tell", "done", "told")]
        assert names == [
            "sensor.lost",
            "custom.alarm",
            "custom.seen",
            "custom.seen",
            "custom.alarm",
            "sensor.restored",
        ]

    def test_all_starts_belong_to_the_process(self) -> None:
        assert load("messages").starts == {"messages": ("lost", "asked", "alarm")}

    def test_correlation_and_condition_stand_on_the_node_or_in_its_event(self) -> None:
        nodes = load("messages").nodes
        assert nodes["lost"].event.filter.text == "payload.minutes > 60"
        assert nodes["look"].event.correlation.text == "payload.sensor == sensor"
        assert nodes["look"].event.filter.text == "payload.seen"
        assert nodes["restored"].event.correlation.text == "payload.sensor == sensor"

    def test_a_thrown_message_has_inputs(self) -> None:
        assert [given.name for given in load("messages").nodes["tell"].inputs] == ["sensor"]


class TestSubProcesses:
    def test_each_is_a_scope_within_another(self) -> None:
        scopes = load("sub_processes").scopes
        assert {scope.id: scope.parent for scope in scopes.values()} == {
            "sub_processes": None,
            "pay": "sub_processes",
            "card_watch": "pay",
            "watch": "sub_processes",
        }

    def test_those_that_an_event_triggers_are_found_by_their_scope(self) -> None:
        definition = load("sub_processes")
        assert definition.event_sub_processes == {"pay": ("card_watch",), "sub_processes": ("watch",)}
        assert definition.nodes["changed"].is_interrupting is False

    def test_errors_are_known_by_their_code_and_without_one_by_any(self) -> None:
        nodes = load("sub_processes").nodes
        assert [nodes[key].event.name for key in ("refused", "on_refused", "on_any", "broken")] == [
            "refused",
            "refused",
            "",
            "",
        ]

    def test_a_call_names_its_definition(self) -> None:
        assert load("sub_processes").nodes["ship"].called == "shipping"


class TestLoops:
    def test_over_a_collection(self) -> None:
        loop = load("loops").nodes["for_each"].loop
        assert (loop.is_multi_instance, loop.is_sequential) == (True, False)
        assert (loop.collection, loop.item) == ("articles", "article")
        assert (loop.output_collection, loop.output_item) == ("prices", "price")
        assert loop.completion.evaluate({"price": 0}) is True

    def test_a_number_of_times(self) -> None:
        loop = load("loops").nodes["three_times"].loop
        assert (loop.is_sequential, loop.cardinality.evaluate({}), loop.collection) == (True, 3, "")

    def test_while_a_condition_holds(self) -> None:
        loop = load("loops").nodes["until"].loop
        assert (loop.is_multi_instance, loop.tests_before, loop.maximum) == (False, True, 5)
        assert loop.condition.text == "tries < 3"
        assert load("loops").nodes["at_most"].loop.maximum == 2


class TestCompensation:
    def test_the_association_tells_what_undoes_an_activity(self) -> None:
        nodes = load("compensation").nodes
        assert nodes["book"].compensated_by == "cancel"
        assert (nodes["cancel"].is_for_compensation, nodes["book"].is_for_compensation) == (True, False)

    def test_one_activity_or_all_are_undone(self) -> None:
        nodes = load("compensation").nodes
        assert [(nodes[key].event.trigger, nodes[key].event.name) for key in ("undo", "done")] == [
            (Trigger.COMPENSATION, "book"),
            (Trigger.COMPENSATION, ""),
        ]


class TestConditional:
    def test_the_only_process_runs_even_when_it_is_not_marked_as_executable(self) -> None:
        definition = load("conditional")
        conditions = [definition.nodes[key].event.condition for key in ("begin", "wait")]
        assert [condition.evaluate({"temperature": 35}) for condition in conditions] == [True, False]


class TestForeignFiles:
    @pytest.mark.parametrize(
        ("name", "nodes", "flows"),
        [("camunda_modeler_7", 24, 23), ("camunda_modeler_8", 5, 5), ("bpmn_io", 12, 9)],
    )
    def test_load_unchanged(self, name: str, nodes: int, flows: int) -> None:
        definition = load(name)
        assert (len(definition.nodes), len(definition.flows)) == (nodes, flows)

    def test_names_broken_for_the_drawing_are_one_line(self) -> None:
        assert load("camunda_modeler_7").nodes["Activity_check"].name == "Check the claim"

    def test_tasks_of_other_engines_wait_for_a_worker_under_their_id(self) -> None:
        node = load("camunda_modeler_8").nodes["Activity_0read"]
        assert (node.handler, node.topic) == ("external", "Activity_0read")

    def test_the_pool_with_something_in_it_is_the_process(self) -> None:
        definition = load("bpmn_io")
        assert (definition.key, definition.name) == ("Process_library", "Lend a book")
        assert definition.nodes["Activity_lend"].compensated_by == "Activity_unlend"

    def test_every_file_but_the_broken_one_can_run(self) -> None:
        names = sorted(path.stem for path in FILES.glob("*.bpmn") if path.stem != "broken")
        assert [load(name).kind for name in names] == ["bpmn"] * 15
