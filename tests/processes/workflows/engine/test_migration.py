from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from processes.workflows.engine.definition import Definition
from processes.workflows.engine.migration import MigrationRejected
from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.runner import CommandRejected
from tests.processes.workflows.case_files import case, human, stage
from tests.processes.workflows.engine.cases.case_driver import CaseDriver
from tests.processes.workflows.engine.process_driver import ProcessDriver

HOUR = timedelta(hours=1)


def build(*elements: str, key: str = "p", beside: str = "") -> Definition:
    spaces = 'xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:postern="https://postern.dev/bpmn/1.0"'
    process = f'<process id="{key}" isExecutable="true">{"".join(elements)}</process>{beside}'
    return parse_definition(f"<definitions {spaces}>{process}</definitions>".encode())


def line(*names: str) -> str:
    return "".join(f'<sequenceFlow id="{a}-{b}" sourceRef="{a}" targetRef="{b}"/>' for a, b in pairwise(names))


def task(name: str, label: str = "") -> str:
    return f'<userTask id="{name}" name="{label}"/>'


def after(duration: str, name: str, on: str, *, interrupts: bool = True) -> str:
    timer = f"<timerEventDefinition><timeDuration>{duration}</timeDuration></timerEventDefinition>"
    cancels = str(interrupts).lower()
    return f'<boundaryEvent id="{name}" attachedToRef="{on}" cancelActivity="{cancels}">{timer}</boundaryEvent>'


BEGIN, END = '<startEvent id="s"/>', '<endEvent id="e"/>'


class Migrated(ProcessDriver):
    """An instance of one revision that can be moved to another one of the same key."""

    def __init__(self, first: Definition, second: Definition, **variables: Any) -> None:
        self.revisions = {1: first, 2: second}
        super().__init__(first, **variables)

    def library(self, key: str, revision: int | str | None) -> tuple[Definition, int]:
        assert not isinstance(revision, str)
        return self.revisions[revision or 1], revision or 1

    def migrate(self, **elements: str) -> "Migrated":
        self.do("migrate", revision=2, elements=elements)
        return self


class TestTasks:
    def test_a_task_goes_on_in_the_new_revision_under_its_id(self) -> None:
        driver = Migrated(
            build(BEGIN, task("a", "Check"), END, line("s", "a", "e")),
            build(BEGIN, task("a", "Check twice"), task("b"), END, line("s", "a", "b", "e")),
        )
        before = driver.task("a")
        driver.migrate()
        assert driver.task("a") == before
        assert driver.state["tasks"][before]["name"] == "Check twice"
        assert driver.complete("a").tasks == ["b"]
        assert driver.complete("b").state["status"] == "completed"

    def test_an_element_with_another_id_is_named_by_the_command(self) -> None:
        driver = Migrated(
            build(BEGIN, task("a"), END, line("s", "a", "e")),
            build(BEGIN, task("z"), task("b"), END, line("s", "z", "b", "e")),
        )
        with pytest.raises(MigrationRejected) as refused:
            driver.migrate()
        assert [(each.element, each.reason) for each in refused.value.unmapped] == [("a", "there is no such element.")]
        assert driver.migrate(a="z").tasks == ["z"]
        assert driver.complete("z").tasks == ["b"]

    @pytest.mark.parametrize(
        ("element", "reason"),
        [
            ('<manualTask id="a"/>', "the element is of another kind."),
            (
                '<userTask id="a"><multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality>'
                "</multiInstanceLoopCharacteristics></userTask>",
                "only one of the two is repeated.",
            ),
        ],
    )
    def test_what_differs_too_much_is_refused(self, element: str, reason: str) -> None:
        driver = Migrated(
            build(BEGIN, task("a"), END, line("s", "a", "e")), build(BEGIN, element, END, line("s", "a", "e"))
        )
        with pytest.raises(MigrationRejected) as refused:
            driver.migrate()
        assert refused.value.unmapped[0].reason == reason

    def test_the_same_revision_is_refused(self) -> None:
        plain = build(BEGIN, task("a"), END, line("s", "a", "e"))
        with pytest.raises(CommandRejected, match="already"):
            Migrated(plain, plain).migrate().migrate()


class TestEvents:
    def test_a_timer_keeps_its_time(self) -> None:
        body = (BEGIN, task("a"), END, line("s", "a", "e"), after("PT3H", "late", "a"), line("late", "e"))
        driver = Migrated(build(*body), build(*(each.replace("PT3H", "PT9H") for each in body)))
        due = [timer["due"] for timer in driver.state["timers"].values()]
        driver.at += HOUR
        driver.migrate()
        assert [timer["due"] for timer in driver.state["timers"].values()] == due
        assert driver.fire("late").state["status"] == "completed"

    def test_a_boundary_event_that_is_new_is_armed(self) -> None:
        body = (BEGIN, task("a"), END, line("s", "a", "e"))
        driver = Migrated(build(*body), build(*body, after("PT1H", "late", "a"), line("late", "e")))
        driver.migrate()
        assert driver.fire("late", HOUR).state["status"] == "completed"

    def test_one_that_has_fired_is_not_armed_again(self) -> None:
        late = after("PT1H", "late", "a", interrupts=False) + line("late", "e2") + '<endEvent id="e2"/>'
        body = (BEGIN, task("a"), END, line("s", "a", "e"), late)
        driver = Migrated(build(*body), build(*body, task("b")))
        driver.fire("late", HOUR)
        driver.migrate()
        assert not driver.state.get("timers")

    def test_one_that_is_gone_is_dropped(self) -> None:
        body = (BEGIN, task("a"), END, line("s", "a", "e"))
        driver = Migrated(build(*body, after("PT1H", "late", "a"), line("late", "e")), build(*body))
        assert not driver.migrate().state.get("timers")

    def test_a_message_is_awaited_under_its_new_name(self) -> None:
        def catching(name: str) -> Definition:
            wait = '<intermediateCatchEvent id="c"><messageEventDefinition messageRef="m"/></intermediateCatchEvent>'
            return build(BEGIN, wait, END, line("s", "c", "e"), beside=f'<message id="m" name="{name}"/>')

        driver = Migrated(catching("paid"), catching("settled")).migrate()
        with pytest.raises(CommandRejected):
            driver.send("paid")
        assert driver.send("settled").state["status"] == "completed"

    def test_an_event_of_another_kind_is_refused(self) -> None:
        message = '<messageEventDefinition messageRef="m"/>'
        timer = "<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>"
        waits = [
            build(
                BEGIN,
                f'<intermediateCatchEvent id="c">{event}</intermediateCatchEvent>',
                END,
                line("s", "c", "e"),
                beside='<message id="m" name="paid"/>',
            )
            for event in (message, timer)
        ]
        with pytest.raises(MigrationRejected) as refused:
            Migrated(waits[0], waits[1]).migrate()
        assert refused.value.unmapped[0].reason == "the element waits for something else."

    def test_an_event_sub_process_that_is_new_is_armed(self) -> None:
        body = (BEGIN, task("a"), END, line("s", "a", "e"))
        timer = "<timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>"
        inner = f'<startEvent id="t">{timer}</startEvent><endEvent id="x"/>' + line("t", "x")
        driver = Migrated(
            build(*body), build(*body, f'<subProcess id="sub" triggeredByEvent="true">{inner}</subProcess>')
        )
        assert driver.migrate().fire("t", HOUR).state["status"] == "completed"


class TestScopes:
    def test_what_runs_in_a_sub_process_goes_on_there(self) -> None:
        def nested(*inner: str) -> Definition:
            names = ("i", *(each.split('"')[1] for each in inner), "o")
            body = '<startEvent id="i"/>' + "".join(inner) + '<endEvent id="o"/>' + line(*names)
            return build(BEGIN, f'<subProcess id="sub">{body}</subProcess>', END, line("s", "sub", "e"))

        driver = Migrated(nested(task("a")), nested(task("a"), task("b"))).migrate()
        assert driver.complete("a").tasks == ["b"]
        assert driver.complete("b").state["status"] == "completed"

    def test_an_element_that_lies_elsewhere_is_refused(self) -> None:
        inner = '<startEvent id="i"/>' + task("a") + '<endEvent id="o"/>' + line("i", "a", "o")
        inside = build(BEGIN, f'<subProcess id="sub">{inner}</subProcess>', END, line("s", "sub", "e"))
        driver = Migrated(build(BEGIN, task("a"), END, line("s", "a", "e")), inside)
        with pytest.raises(MigrationRejected) as refused:
            driver.migrate()
        assert refused.value.unmapped[0].reason == "the element lies elsewhere."

    def test_rounds_go_on(self) -> None:
        def repeated(*more: str) -> Definition:
            twice = "<loopCardinality>2</loopCardinality>"
            loop = f"<multiInstanceLoopCharacteristics>{twice}</multiInstanceLoopCharacteristics>"
            body = f'<userTask id="a">{loop}</userTask>'
            names = ("s", "a", *(each.split('"')[1] for each in more), "e")
            return build(BEGIN, body, *more, END, line(*names))

        driver = Migrated(repeated(), repeated(task("b")))
        driver.complete("a")
        driver.migrate()
        assert driver.complete("a").tasks == ["b"]

    def test_a_join_that_needs_fewer_opens(self) -> None:
        fork, join = '<parallelGateway id="f"/>', '<parallelGateway id="j"/>'
        both = line("s", "f", "a", "j", "e") + line("f", "b", "j")
        alone = line("s", "f", "a", "j", "e") + line("f", "b", "e2") + '<endEvent id="e2"/>'
        parts = (BEGIN, fork, join, task("a"), task("b"), END)
        driver = Migrated(build(*parts, both), build(*parts, alone))
        driver.complete("a")
        assert driver.tokens == ["b", "j"]
        driver.migrate()
        assert driver.tokens == ["b"]

    def test_a_token_at_a_join_needs_the_way_it_came_by(self) -> None:
        fork, join = '<parallelGateway id="f"/>', '<parallelGateway id="j"/>'
        parts = (BEGIN, fork, join, task("a"), task("b"), END)
        both = line("s", "f", "a", "j", "e") + line("f", "b", "j")
        other = line("s", "f", "b", "j", "e") + line("f", "j") + line("f", "a", "e")
        driver = Migrated(build(*parts, both), build(*parts, other))
        driver.complete("a")
        with pytest.raises(MigrationRejected) as refused:
            driver.migrate()
        assert [each.reason for each in refused.value.unmapped] == ["the way by which it came does not lead there."]

    def test_what_could_be_undone_can_be_still(self) -> None:
        undone = '<boundaryEvent id="c" attachedToRef="a"><compensateEventDefinition/></boundaryEvent>'
        undone += '<userTask id="undo" isForCompensation="true"/><association id="x" sourceRef="c" targetRef="undo"/>'
        body = (BEGIN, task("a"), task("b"), END, line("s", "a", "b", "e"))
        driver = Migrated(build(*body, undone), build(*body))
        driver.complete("a")
        with pytest.raises(MigrationRejected) as refused:
            driver.migrate()
        assert [each.element for each in refused.value.unmapped] == ["undo"]

    def test_a_suspended_instance_moves_and_stays_suspended(self) -> None:
        fork, join = '<parallelGateway id="f"/>', '<parallelGateway id="j"/>'
        both = line("s", "f", "a", "j", "e") + line("f", "b", "j")
        parts = (BEGIN, fork, join, task("a"), task("b"), END, both)
        driver = Migrated(build(*parts), build(*parts, task("c")))
        driver.complete("a")
        driver.do("suspend")
        assert driver.migrate().state["status"] == "suspended"
        driver.do("resume")
        assert driver.complete("b").state["status"] == "completed"


class MigratedCase(CaseDriver):
    """A case of one revision that can be moved to another one of the same key."""

    def __init__(self, first: str, second: str) -> None:
        self.second = parse_definition(second.encode())
        super().__init__(first)

    def library(self, key: str, revision: int | str | None) -> tuple[Definition, int]:
        return (self.second, 2) if revision == 2 else super().library(key, revision)

    def migrate(self, **elements: str) -> "MigratedCase":
        return self.do("migrate", revision=2, elements=elements)

    @property
    def tasks(self) -> list[str]:
        return sorted(task["element"] for task in self.state.get("tasks", {}).values())


class TestCases:
    def test_items_go_on_and_those_that_are_new_begin(self) -> None:
        first = case(human("A"), stage("S", human("B"), entry="A complete"))
        second = case(human("A"), stage("S", human("B"), human("D"), entry="A complete"), human("C", manual=True))
        driver = MigratedCase(first, second).migrate()
        assert driver.tasks == ["A"]
        states = {item["element"]: item["state"] for item in driver.state["items"].values()}
        assert (states["A"], states["S"], states["C"]) == ("active", "available", "enabled")
        assert driver.complete("A").tasks == ["B", "D"]

    def test_a_stage_that_is_under_way_takes_new_items(self) -> None:
        driver = MigratedCase(case(stage("S", human("B"))), case(stage("S", human("B"), human("D")))).migrate()
        assert driver.tasks == ["B", "D"]

    def test_criteria_that_are_others_begin_anew(self) -> None:
        waits = "A complete, B complete"
        first = case(human("A"), human("B"), human("C", entry=waits))
        second = case(human("A"), human("B"), human("C", entry=["B complete", waits]))
        driver = MigratedCase(first, second)
        driver.complete("A")
        driver.migrate()
        assert "C" not in driver.tasks
        assert "C" in driver.complete("B").tasks

    def test_what_a_criterion_has_heard_of_another_does_not_count(self) -> None:
        first = case(human("A"), human("B"), human("C", entry="A complete, B complete"))
        second = case(human("A"), human("B"), human("D"), human("C", entry="B complete, D complete"))
        driver = MigratedCase(first, second).complete("A").migrate()
        assert driver.complete("D").tasks == ["B"]

    def test_an_item_that_is_gone_needs_a_counterpart(self) -> None:
        driver = MigratedCase(case(human("A"), human("B")), case(human("A"), human("Z")))
        with pytest.raises(MigrationRejected) as refused:
            driver.migrate()
        assert [each.element for each in refused.value.unmapped] == ["B"]
        assert driver.migrate(B="Z").tasks == ["A", "Z"]
