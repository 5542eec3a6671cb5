from processes.workflows.engine.difference import compare_states
from tests.processes.workflows.engine.builder import call, each, parallel, process, sub, user
from tests.processes.workflows.engine.process_driver import ProcessDriver


class TestCompareStates:
    def test_variables(self) -> None:
        case = ProcessDriver(process(user("a"), user("b"), "start > a > b > end"), same=[1], old=True, x={"k": 1})
        before = case.state
        case.complete("a", old=1, y=None)
        assert compare_states(before, case.state) == {
            "variables": {"added": {"y": None}, "removed": {}, "changed": {"old": {"before": True, "after": 1}}},
            "active": {"added": ["b"], "removed": ["a"]},
        }

    def test_backwards_what_was_added_is_removed(self) -> None:
        case = ProcessDriver(process(user("a"), user("b"), "start > a > b > end"))
        before = case.state
        after = case.complete("a", y=1).state
        assert compare_states(after, before)["variables"]["removed"] == {"y": 1}

    def test_the_same_state_has_no_difference(self) -> None:
        state = ProcessDriver(process(user("a"), "start > a > end"), x=1).state
        assert compare_states(state, state)["active"] == {"added": [], "removed": []}

    def test_scopes_inside_have_readable_names(self) -> None:
        inner = sub("s", call("c", "Q"), "start_in > c > end_in", loop=each("xs", item="x"))
        case = ProcessDriver(
            process(inner, user("z"), "start > s > z"), process(user("q"), "start > q", key="Q"), xs=[7, 8]
        )
        before = case.state
        case.complete("q", r=1).complete("q")
        removed = compare_states(before, case.state)["variables"]["removed"]
        assert (removed["s[1].x"], removed["s[2].x"], removed["s[2]/c.x"]) == (7, 8, 8)

    def test_elements_are_counted(self) -> None:
        case = ProcessDriver(process(parallel("p"), user("a"), user("b"), "start > p", "p > a", "p > a", "a > b"))
        before = case.state
        assert compare_states(before, case.complete("a").state)["active"] == {"added": ["b"], "removed": ["a"]}
