"""Findings in processes and cases, by small files that have them and small files that do not."""

from datetime import UTC, datetime

import pytest

from processes.workflows.engine.lint import find_untried_starts, lint_definition
from processes.workflows.engine.parser import parse_definition
from tests.processes.workflows.process_files import (
    chain,
    flow,
    message,
    named,
    process,
    sending,
    started_at,
    started_by,
    timer,
    user,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
BEGIN, END = '<startEvent id="begin"/>', '<endEvent id="end"/>'


def lint(source: bytes) -> list[tuple[str, str]]:
    return [(finding.element, finding.message) for finding in lint_definition(parse_definition(source), at=NOW)]


def task(key: str) -> str:
    return f'<task id="{key}" name="{key.upper()}"/>'


def gateway(key: str, kind: str = "exclusive", default: str = "") -> str:
    named = f' default="{default}"' if default else ""
    return f'<{kind}Gateway id="{key}"{named}/>'


class TestUntriedStarts:
    CURRENT = chain("p", user("a"), start=started_at("<timeCycle>R/PT1H</timeCycle>"))

    @pytest.mark.parametrize(
        ("start", "found"),
        [
            (started_at("<timeCycle>R/PT1H</timeCycle>"), []),
            (started_at("<timeCycle>R/PT2H</timeCycle>"), ["begin"]),
            (started_by(), ["begin"]),
            ("", []),
        ],
    )
    def test_are_those_that_the_current_revision_does_not_have(self, start: str, found: list[str]) -> None:
        more = {"start": start} if start else {}
        tried = parse_definition(chain("p", user("a"), before=named("custom.x"), **more))
        findings = find_untried_starts(tried, parse_definition(self.CURRENT))
        assert [finding.element for finding in findings] == found


class TestReachability:
    def test_what_nothing_leads_to_is_named_with_its_line(self) -> None:
        source = process(
            "p", BEGIN, END, flow("begin", "end"), "\n", task("lost"), task("after"), flow("lost", "after")
        )
        [first, second] = lint_definition(parse_definition(source), at=NOW)
        assert (first.element, first.line, first.name) == ("lost", 2, "LOST")
        assert second.element == "after"

    def test_what_events_and_compensation_lead_to_is_reached(self) -> None:
        inner = (
            '<userTask id="a"/><boundaryEvent id="late" attachedToRef="a"><timerEventDefinition><timeDuration>PT1H'
            '</timeDuration></timerEventDefinition></boundaryEvent><task id="b"/>'
            '<boundaryEvent id="undo" attachedToRef="a"><compensateEventDefinition/></boundaryEvent>'
            '<task id="c" isForCompensation="true"/><association id="x" sourceRef="undo" targetRef="c"/>'
            '<subProcess id="sub" triggeredByEvent="true"><startEvent id="s"><timerEventDefinition><timeDuration>PT9H'
            "</timeDuration></timerEventDefinition></startEvent></subProcess>"
        )
        assert lint(process("p", BEGIN, END, inner, flow("begin", "a"), flow("a", "end"), flow("late", "b"))) == []

    def test_of_a_sub_process_that_is_not_reached_only_it_is_named(self) -> None:
        lost = '<subProcess id="sub"><startEvent id="s"/><task id="t"/></subProcess>'
        found = lint(process("p", BEGIN, END, flow("begin", "end"), lost))
        assert [element for element, _ in found] == ["sub"]


class TestJoins:
    def split(self, kind: str, *more: str) -> bytes:
        default = "split_b" if kind == "exclusive" else ""
        condition = "x == 1" if kind in ("exclusive", "inclusive") else ""
        parts = [BEGIN, END, gateway("split", kind, default), task("a"), task("b"), gateway("join", "parallel")]
        flows = [flow("begin", "split"), flow("split", "a", condition), flow("split", "b"), flow("a", "join")]
        return process("p", *parts, *flows, flow("b", "join"), flow("join", "end"), *more)

    def test_an_exclusive_split_never_satisfies_a_parallel_join(self) -> None:
        [(element, message)] = lint(self.split("exclusive"))
        assert element == "join"
        assert message == "The join waits for ever: the flows from “A” and “B” are never taken together."

    @pytest.mark.parametrize("kind", ["parallel", "inclusive"])
    def test_a_fork_does(self, kind: str) -> None:
        assert lint(self.split(kind)) == []

    def test_two_tokens_that_choose_one_after_the_other_may(self) -> None:
        # A fork before the choice: one token may take each way.
        source = self.split("exclusive").replace(
            flow("begin", "split").encode(),
            (gateway("fork", "parallel") + flow("begin", "fork") + flow("fork", "m1") + flow("fork", "m2")).encode()
            + (task("m1") + task("m2") + flow("m1", "split") + flow("m2", "split")).encode(),
        )
        assert lint(source) == []

    def test_an_event_that_does_not_interrupt_is_a_fork(self) -> None:
        event = (
            '<boundaryEvent id="e" attachedToRef="a" cancelActivity="false"><timerEventDefinition><timeDuration>PT1H'
            "</timeDuration></timerEventDefinition></boundaryEvent>"
        )
        flows = [flow("begin", "a"), flow("a", "join"), flow("e", "join"), flow("join", "end")]
        parts = [BEGIN, END, '<userTask id="a"/>', gateway("join", "parallel"), event]
        assert lint(process("p", *parts, *flows)) == []
        interrupting = process("p", *(part.replace('cancelActivity="false"', "") for part in parts), *flows)
        assert [element for element, _ in lint(interrupting)] == ["join"]

    def test_an_event_that_may_fire_again_sends_a_token_each_way(self) -> None:
        event = (
            '<boundaryEvent id="e" attachedToRef="h" cancelActivity="false"><timerEventDefinition><timeCycle>R/PT1H'
            "</timeCycle></timerEventDefinition></boundaryEvent>"
        )
        parts = [BEGIN, '<userTask id="h"/>', event, gateway("x", default="x_b"), task("a"), task("b")]
        flows = [flow("begin", "h"), flow("e", "x"), flow("x", "a", "n == 1"), flow("x", "b")]
        join = [gateway("join", "parallel"), flow("a", "join"), flow("b", "join")]
        assert lint(process("p", *parts, *flows, *join)) == []

    def test_a_task_with_two_flows_is_a_fork(self) -> None:
        parts = [BEGIN, END, task("a"), task("b"), task("c"), gateway("join", "parallel")]
        flows = [flow("begin", "a"), flow("a", "b"), flow("a", "c"), flow("b", "join"), flow("c", "join")]
        assert lint(process("p", *parts, *flows, flow("join", "end"))) == []


class TestConditions:
    def choice(self, *conditions: str, default: bool = False) -> list[tuple[str, str]]:
        keys = [f"t{at}" for at in range(len(conditions))]
        ways = [flow("x", key, condition) for key, condition in zip(keys, conditions, strict=True)]
        if default:
            keys.append("other")
            ways.append(flow("x", "other"))
        inner = [gateway("x", default="x_other" if default else ""), *map(task, keys), flow("begin", "x"), *ways]
        return lint(process("p", BEGIN, *inner))

    def test_two_that_hold_at_once(self) -> None:
        [(element, message)] = self.choice("a &gt; 10", "a &gt; 20", default=True)
        assert element == "x"
        assert message == "“a > 10” and “a > 20” both hold for a = 21: the first one is taken."

    def test_a_value_for_which_none_holds(self) -> None:
        [(_, message)] = self.choice("a &lt; 10", "a &gt; 10")
        assert message == "No condition holds for a = 10, and there is no default flow."

    @pytest.mark.parametrize(
        "conditions",
        [
            ("a &lt; 10", "a &gt;= 10"),
            ("a &lt; 10", "a &gt;= 10 and a &lt; 20", "a &gt;= 20"),
            ("approved", "not approved"),
            ("approved == true", "approved == false"),
            ("order.total &lt;= -5", "order.total &gt; -5"),
            ("status == 'a'", "status != 'a'"),
            ("${a &lt; 1}", "${a &gt;= 1}"),
        ],
    )
    def test_those_that_share_all_values_are_fine(self, conditions: tuple[str, ...]) -> None:
        assert self.choice(*conditions) == []

    def test_texts_leave_all_others(self) -> None:
        [(_, message)] = self.choice("status == 'a'", "status in ['b', 'c']")
        assert message == "No condition holds for status = any other text, and there is no default flow."

    @pytest.mark.parametrize(
        "conditions", [("a &gt; b", "a &gt; 5"), ("len(a) &gt; 1", "len(a) &gt; 2"), ("a &gt; 1", "b &gt; 1")]
    )
    def test_what_is_not_that_simple_is_left_alone(self, conditions: tuple[str, ...]) -> None:
        assert self.choice(*conditions) == []


class TestTimers:
    @pytest.mark.parametrize(
        ("text", "is_past"),
        [
            ("<timeDate>2025-12-31T00:00:00Z</timeDate>", True),
            ("<timeDate>2026-12-31T00:00:00Z</timeDate>", False),
            ("<timeCycle>R3/2025-01-01T00:00:00Z/P1D</timeCycle>", True),
            ("<timeCycle>R/2025-01-01T00:00:00Z/P1D</timeCycle>", False),
            ("<timeCycle>R400/2025-01-01T00:00:00Z/P1D</timeCycle>", False),
        ],
    )
    def test_a_time_that_is_past(self, text: str, *, is_past: bool) -> None:
        found = lint(chain("p", user("a"), start=started_at(text)))
        assert [element for element, _ in found] == (["begin"] if is_past else [])
        assert all("in the past" in message for _, message in found)

    def test_a_duration_is_never_past(self) -> None:
        assert lint(chain("p", timer("t", "PT1H"))) == []


def test_no_more_than_a_hundred_are_named() -> None:
    lost = [task(f"t{at}") for at in range(101)]
    assert len(lint(process("p", BEGIN, END, flow("begin", "end"), *lost))) == 100


class TestNames:
    @pytest.mark.parametrize(("name", "is_told"), [("n" * 74, True), ("n" * 73, False), ("custom." + "n" * 73, False)])
    def test_a_name_that_no_event_can_have(self, name: str, *, is_told: bool) -> None:
        found = lint(chain("p", message("m"), sending("s"), user("a"), before=named(name)))
        told = [
            ("m", "No event reaches it: what it waits for has a name of more than 73 characters."),
            ("s", "It fails whenever it is reached: what it throws has a name of more than 73 characters."),
        ]
        assert found == (told if is_told else [])


def test_a_file_as_large_as_may_be_is_judged_soon() -> None:
    names = [f"t{at}" for at in range(900)]
    parts = [gateway(f"g{at}", "parallel") for at in range(900)]
    flows = [flow("begin", "g0"), *(flow(f"g{at}", f"g{at + 1}") for at in range(899))]
    flows += [flow(f"g{at}", name) for at, name in enumerate(names)]
    flows += [flow(name, f"g{at + 1}") for at, name in enumerate(names[:-1])]
    definition = parse_definition(process("p", BEGIN, *parts, *map(task, names), *flows))
    assert lint_definition(definition, at=NOW) == ()
