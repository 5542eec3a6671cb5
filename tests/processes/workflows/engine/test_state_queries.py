from processes.workflows.engine import state_queries
from tests.processes.workflows.engine.builder import boundary, call, duration, each, process, sub, user
from tests.processes.workflows.engine.process_driver import START, ProcessDriver


class TestListActiveElements:
    def test_names_the_kind_of_each_element_also_inside(self) -> None:
        called = process(user("q"), "start > q", key="Q")
        case = ProcessDriver(process(sub("s", call("c", "Q"), "start_in > c"), "start > s"), called)
        active = state_queries.list_active_elements(case.state, case.library)
        assert [(item["element"], item["kind"]) for item in active] == [
            ("s", "sub_process"), ("c", "call_activity"), ("q", "user_task"),
        ]  # fmt: skip

    def test_shows_rounds_and_not_their_whole(self) -> None:
        case = ProcessDriver(process(user("a", loop=each(cardinality="2")), "start > a"))
        assert [item["element"] for item in state_queries.list_active_elements(case.state, case.library)] == ["a", "a"]
        assert state_queries.list_active_elements(case.state, case.library)[0]["since"] == START.isoformat()


class TestListTasks:
    def test_are_shown_with_their_ids(self) -> None:
        case = ProcessDriver(process(user("a", name="Do"), "start > a"))
        [task] = state_queries.list_tasks(case.state)
        assert task == {"id": case.task("a"), "element": "a", "name": "Do", "kind": "user", "since": START.isoformat()}

    def test_none_in_a_finished_instance(self) -> None:
        case = ProcessDriver(process(user("a"), "start > a")).complete("a")
        assert (state_queries.list_tasks(case.state), state_queries.list_timers(case.state)) == ([], [])


class TestListTimers:
    def test_are_shown_with_when_they_are_due(self) -> None:
        case = ProcessDriver(process(user("a"), boundary("t", "a", duration("PT1H")), "start > a", "t > end"))
        [timer] = state_queries.list_timers(case.state)
        assert (timer["element"], timer["kind"], timer["due"][:19]) == ("t", "duration", "2030-01-01T01:00:00")


class TestGetVariables:
    def test_are_those_of_the_process(self) -> None:
        case = ProcessDriver(process(user("a", loop=each("xs", item="x")), "start > a"), xs=[1])
        assert state_queries.get_variables(case.state) == {"xs": [1]}
        scope = case.state["tasks"][case.task("a")]["scope"]
        assert state_queries.get_visible_variables(case.state, scope) == {"xs": [1], "loopCounter": 1, "x": 1}
