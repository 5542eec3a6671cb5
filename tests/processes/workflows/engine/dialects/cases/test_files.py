"""Cases as other tools write them."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from processes.workflows.engine.definition import Definition, NodeKind, TimerKind
from processes.workflows.engine.parser import parse_definition, parse_file
from processes.workflows.engine.runner import InstanceState, run_command

AT = datetime(2030, 1, 1, tzinfo=UTC)
HEAD = (
    '<definitions xmlns="http://www.omg.org/spec/CMMN/20151109/MODEL" xmlns:flowable="http://flowable.org/cmmn"'
    ' xmlns:camunda="http://camunda.org/schema/1.0/cmmn">'
)


def case(body: str) -> bytes:
    return f'{HEAD}<case id="c"><casePlanModel id="plan">{body}</casePlanModel></case></definitions>'.encode()


def item(definition: str, inner: str = "") -> str:
    return f'<planItem id="{definition}-item" definitionRef="{definition}">{inner}</planItem>'


class TestDecisions:
    def test_one_that_code_names_is_external_work(self) -> None:
        source = case(item("d") + '<decisionTask id="d" decisionRef="${bean.which()}"/>')
        node = parse_definition(source).nodes["d-item"]
        assert (node.kind, node.handler, node.decision) == (NodeKind.HUMAN_TASK, "external", None)

    @pytest.mark.parametrize(
        "task",
        [
            '<decisionTask id="d" decisionRef="${empty x ? &quot;a&quot; : x}"/>',
            "<decisionTask id='d'><decisionRefExpression>${empty x ? 'a' : x}</decisionRefExpression></decisionTask>",
        ],
    )
    def test_one_that_an_expression_names_is_evaluated(self, task: str) -> None:
        decision = parse_definition(case(item("d") + task)).nodes["d-item"].decision
        assert decision is not None
        assert decision.expression is not None
        assert decision.expression.evaluate({"x": "b"}) == "b"


class TestTimers:
    def test_a_cron_expression_is_a_cycle(self) -> None:
        timer = "<timerEventListener id='t'><timerExpression>0 0 12 * * ?</timerExpression></timerEventListener>"
        event = parse_definition(case(item("t") + timer)).nodes["t-item"].event
        assert event is not None
        assert event.timer is not None
        assert event.timer.kind is TimerKind.CYCLE


class CaseRun:
    """One case, driven by commands."""

    def __init__(self, source: bytes, **variables: Any) -> None:
        self.definition = parse_definition(source)
        start = {"command": "start", "definition": ["c", 1], "variables": variables}
        self.state: InstanceState | None = None
        self.run(start)

    def run(self, command: dict[str, Any]) -> None:
        outcome = run_command(self.library, self.state, command, AT)
        self.state = json.loads(json.dumps(outcome.state))

    def library(self, key: str, revision: int | str | None) -> tuple[Definition, int]:
        return self.definition, 1

    def states(self) -> dict[str, str]:
        return {record["element"]: record["state"] for record in self.state["items"].values()}

    def key(self, element: str) -> str:
        return next(key for key, record in self.state["items"].items() if record["element"] == element)

    def tasks(self) -> list[tuple[str, str, str]]:
        found = self.state.get("tasks", {}).values()
        return [(task["element"], task["kind"], task.get("topic", "")) for task in found]

    def complete(self, element: str, **variables: Any) -> None:
        key, task = next(found for found in self.state["tasks"].items() if found[1]["element"] == element)
        name = "complete_job" if task["kind"] == "external" else "complete_task"
        self.run({"command": name, "task": key, "variables": variables})


class TestTasks:
    @pytest.mark.parametrize(
        ("attributes", "task"),
        [
            ("", ("t-item", "user", "")),
            ("XX", ("t-item", "user", "")),
            ('flowable:type="java" flowable:class="x.Y"', ("t-item", "external", "t")),
            ('flowable:type="external-worker" flowable:topic="pay"', ("t-item", "external", "pay")),
        ],
    )
    def test_a_task_is_done_by_a_person_or_a_worker(self, attributes: str, task: tuple[str, str, str]) -> None:
        kind = "formTask" if attributes == "XX" else "task"  # a type of its own, which only its engine knows
        run = CaseRun(case(f'{item("t")}<{kind} id="t" {attributes.replace("XX", "")}/>'))
        assert run.tasks() == [task]
        run.complete("t-item", done=True)
        assert (run.state["status"], run.states()["t-item"]) == ("completed", "completed")

    def test_a_decision_is_external_work_or_run(self) -> None:
        definition = parse_definition(case(f'{item("t")}<decisionTask id="t" camunda:decisionRef="d"/>'))
        assert definition.nodes["t-item"].kind in (NodeKind.HUMAN_TASK, getattr(NodeKind, "DECISION_TASK", None))

    def test_a_worker_can_fail_a_task(self) -> None:
        run = CaseRun(case(f'{item("t")}{item("u")}<task id="t" flowable:type="x"/><humanTask id="u"/>'))
        key = next(key for key, task in run.state["tasks"].items() if task["kind"] == "external")
        run.run({"command": "fail_job", "task": key, "code": "bad"})
        assert run.states()["t-item"] == "failed"


class TestListeners:
    @pytest.mark.parametrize(
        "listener",
        [
            '<eventListener id="l" flowable:eventType="signal"/>',
            '<variableEventListener id="l" flowable:variableName="x"/>',
            '<timerEventListener id="l"><timerExpression>${bean.time()}</timerExpression></timerEventListener>',
        ],
    )
    def test_of_any_other_event_occur_by_hand(self, listener: str) -> None:
        sentry = (
            '<sentry id="s"><planItemOnPart sourceRef="l-item"><standardEvent>occur</standardEvent></planItemOnPart>'
            "</sentry>"
        )
        body = f"{item('l')}{item('h', '<entryCriterion sentryRef=' + chr(34) + 's' + chr(34) + '/>')}{sentry}"
        run = CaseRun(case(f'{body}{listener}<humanTask id="h"/>'))
        run.run({"command": "occur", "item": run.key("l-item")})
        assert run.states()["h-item"] == "active"


class TestRules:
    def test_a_stage_does_not_wait_for_what_is_neutral(self) -> None:
        control = "<itemControl><extensionElements><flowable:completionNeutralRule/></extensionElements></itemControl>"
        criterion = '<entryCriterion sentryRef="s"/>'
        sentry = '<sentry id="s"><ifPart><condition>${go}</condition></ifPart></sentry>'
        body = f'{item("a")}{item("b", control + criterion)}{sentry}<humanTask id="a"/><humanTask id="b"/>'
        run = CaseRun(case(body), go=False)
        run.complete("a-item")
        assert run.state["status"] == "completed"

    def test_a_discretionary_item_waits_until_it_is_planned(self) -> None:
        table = '<planningTable><discretionaryItem id="d" definitionRef="b"/></planningTable>'
        run = CaseRun(case(f'{item("a")}{table}<humanTask id="a"/><humanTask id="b"/>'))
        assert run.states()["d"] == "enabled"
        run.run({"command": "plan", "item": run.key("d")})
        assert run.states()["d"] == "active"
        run.complete("a-item")
        assert run.state["status"] == "active"

    def test_nobody_has_to_plan_anything(self) -> None:
        table = '<planningTable><discretionaryItem id="d" definitionRef="b"/></planningTable>'
        run = CaseRun(case(f'{item("a")}{table}<humanTask id="a"/><humanTask id="b"/>'))
        run.complete("a-item")
        assert run.state["status"] == "completed"

    def test_conditions_are_translated(self) -> None:
        rule = (
            "<itemControl><manualActivationRule><condition>${x eq 1}</condition></manualActivationRule></itemControl>"
        )
        assert CaseRun(case(f'{item("a", rule)}<humanTask id="a"/>'), x=1).states()["a-item"] == "enabled"
        assert CaseRun(case(f'{item("a", rule)}<humanTask id="a"/>'), x=2).states()["a-item"] == "active"


class TestFiles:
    def test_ids_are_optional(self) -> None:
        model = '<casePlanModel><planItem definitionRef="h"/><humanTask id="h"/></casePlanModel>'
        source = f'{HEAD}<case id="c">{model}</case></definitions>'.encode()
        assert "planItem~casePlanModel~c~h" in parse_definition(source).nodes

    def test_the_older_version_is_read(self) -> None:
        source = case(f'{item("h")}<humanTask id="h"/>').replace(b"20151109", b"20131201")
        assert parse_definition(source).key == "c"

    def test_an_empty_plan_is_complete_at_once(self) -> None:
        assert CaseRun(case('<planFragment id="f"/>')).state["status"] == "completed"

    def test_an_on_part_by_an_exit_criterion_waits_for_that_exit(self) -> None:
        body = (
            item("a", '<exitCriterion id="out" sentryRef="s"/>')
            + item("b", '<entryCriterion sentryRef="t"/>')
            + '<sentry id="s"><ifPart><condition>${stop}</condition></ifPart></sentry><sentry id="t"/>'
            '<sentry id="t"><planItemOnPart exitCriterionRef="out"><standardEvent>complete</standardEvent>'
            '</planItemOnPart></sentry><humanTask id="a"/><humanTask id="b"/>'
        )
        run = CaseRun(case(body), stop=False)
        assert run.states()["b-item"] == "available"
        run.run({"command": "set_variables", "variables": {"stop": True}})
        assert (run.states()["a-item"], run.states()["b-item"]) == ("terminated", "active")

    def test_every_case_is_a_definition(self) -> None:
        one = (
            '<casePlanModel id="p{0}"><planItem id="i{0}" definitionRef="h{0}"/><humanTask id="h{0}"/></casePlanModel>'
        )
        cases = "".join(f'<case id="c{number}">{one.format(number)}</case>' for number in (1, 2))
        found = parse_file(f"{HEAD}{cases}</definitions>".encode())
        assert [each.key for each in found.definitions] == ["c1", "c2"]

    def test_what_has_no_effect_is_listed(self) -> None:
        source = case(f'{item("h")}<humanTask id="h" flowable:formFieldValidation="false"/>')
        report = parse_file(source).report
        assert [(entry.element, entry.what) for entry in report.drawn] == [("h", "flowable:formFieldValidation false")]

    def test_what_is_passed_on_and_taken_back(self) -> None:
        mapped = (
            '<extensionElements><flowable:in source="a" target="b"/><flowable:out source="c" target="d"/>'
            "</extensionElements>"
        )
        node = parse_definition(case(f'{item("t")}<caseTask id="t" caseRef="other">{mapped}</caseTask>')).nodes[
            "t-item"
        ]
        assert [(each.name, each.expression.text) for each in (*node.inputs, *node.outputs)] == [("b", "a"), ("d", "c")]


class TestPeople:
    def test_a_human_task_has_them_by_attributes_or_by_its_role(self) -> None:
        tasks = (
            f'{item("a")}{item("b")}<humanTask id="a" camunda:assignee="${{boss}}" flowable:candidateGroups="sales"/>'
            '<humanTask id="b" performerRef="r"/>'
        )
        roles = '<caseRoles><role id="r" name="Clerks"/></caseRoles>'
        source = case(tasks).replace(b"</casePlanModel>", f"</casePlanModel>{roles}".encode())
        run = CaseRun(source, boss="anna")
        assert run.state is not None
        people = [task["people"] for task in run.state["tasks"].values()]
        assert people == [{"assignee": "anna", "groups": ["sales"]}, {"groups": ["Clerks"]}]
        told = {entry.what for entry in parse_file(source).report.translated}
        assert {"camunda:assignee", "flowable:candidateGroups", "performerRef"} <= told


class TestWhatPointsNowhere:
    """Cases as people draw them: on-parts without an event, items without a definition, shared definitions."""

    def lists(self, body: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        report = parse_file(case(body)).report
        drawn = [(entry.element, entry.what) for entry in report.drawn]
        return drawn, [(entry.element, entry.after) for entry in report.translated]

    def after(self, kind: str, event: str) -> str:
        part = f'<planItemOnPart sourceRef="a-item"><standardEvent>{event}</standardEvent></planItemOnPart>'
        entry = '<entryCriterion id="e" sentryRef="s"/>'
        return f'{item("a")}{item("b", entry)}<sentry id="s">{part}</sentry><{kind} id="a"/><humanTask id="b"/>'

    @pytest.mark.parametrize("event", ["complete", "occur", ""])
    def test_a_milestone_occurs_whatever_the_tool_calls_it(self, event: str) -> None:
        run = CaseRun(case(self.after("milestone", event)))
        assert run.states()["b-item"] == "active"

    @pytest.mark.parametrize("event", ["complete", "occur", ""])
    def test_a_task_is_completed_whatever_the_tool_calls_it(self, event: str) -> None:
        run = CaseRun(case(self.after("humanTask", event)))
        assert run.states()["b-item"] == "available"
        run.complete("a-item")
        assert run.states()["b-item"] == "active"

    def test_what_can_never_happen_is_listed_and_its_criterion_never_met(self) -> None:
        body = self.after("humanTask", "close")
        run = CaseRun(case(body))
        run.complete("a-item")
        assert run.states()["b-item"] == "available"
        assert ("s", "planItemOnPart close") in self.lists(body)[0]

    @pytest.mark.parametrize(
        "part", ['<planItemOnPart sourceRef="gone"/>', "<caseFileItemOnPart/>", "<planItemOnPart/>"]
    )
    def test_an_on_part_of_nothing_is_listed(self, part: str) -> None:
        body = f'{item("a", "<entryCriterion sentryRef=" + chr(34) + "s" + chr(34) + "/>")}<humanTask id="a"/>'
        body += f'<sentry id="s">{part}</sentry>'
        assert CaseRun(case(body)).states()["a-item"] == "available"
        assert [element for element, _ in self.lists(body)[0]] == ["s"]

    def test_an_item_of_nothing_is_only_drawn(self) -> None:
        body = f'{item("a")}<planItem id="x"/><planItem id="y" definitionRef="gone"/><humanTask id="a"/>'
        body += '<machine id="m"/>'
        assert set(CaseRun(case(body)).states()) == {"plan", "a-item"}
        assert set(self.lists(body)[0]) == {("x", "planItem"), ("y", "planItem"), ("m", "machine")}

    def test_a_definition_in_another_stage_is_shared(self) -> None:
        stages = '<stage id="s"><planItem id="i" definitionRef="h"/><humanTask id="h"/></stage>'
        body = f'{item("s")}{item("t")}{stages}<stage id="t"><planItem id="j" definitionRef="h"/></stage>'
        states = CaseRun(case(body)).states()
        assert (states["i"], states["j"]) == ("active", "active")
        assert ("h", "it stands in the case plan, where every stage finds it") in self.lists(body)[1]

    def test_a_stage_has_one_plan_item(self) -> None:
        body = (
            f'{item("s")}<planItem id="again" definitionRef="s"/><stage id="s">{item("h")}<humanTask id="h"/></stage>'
        )
        assert ("again", "planItem") in self.lists(body)[0]
        assert CaseRun(case(body)).states()["h-item"] == "active"

    def test_a_plan_of_nothing_is_complete_at_once(self) -> None:
        assert CaseRun(case('<planItem id="x"/>')).state["status"] == "completed"

    def test_the_plan_has_no_entry_criterion(self) -> None:
        body = f'{item("a")}<entryCriterion id="e" sentryRef="s"/><humanTask id="a"/><sentry id="s"/>'
        assert ("plan", "entryCriterion") in self.lists(body)[0]

    def test_a_case_without_a_plan_is_drawn_beside_one_that_has(self) -> None:
        source = case(f'{item("a")}<humanTask id="a"/>').replace(b"</definitions>", b'<case id="d"/></definitions>')
        found = parse_file(source)
        assert [each.key for each in found.definitions] == ["c"]
        assert [(entry.element, entry.what) for entry in found.report.drawn] == [("d", "case")]

    def test_a_condition_in_words_is_a_variable_that_is_set_from_outside(self) -> None:
        body = f'{item("a", "<entryCriterion sentryRef=" + chr(34) + "s" + chr(34) + "/>")}<humanTask id="a"/>'
        body += '<sentry id="s"><ifPart><condition>the customer is rich</condition></ifPart></sentry>'
        run = CaseRun(case(body))
        run.run({"command": "set_variables", "variables": {"answer_s": True}})
        assert run.states()["a-item"] == "active"

    @pytest.mark.parametrize(("text", "kind"), [("1h", TimerKind.DURATION), ("2d12h", TimerKind.DURATION)])
    def test_a_length_of_a_timer_may_be_short(self, text: str, kind: TimerKind) -> None:
        timer = f"<timerEventListener id='t'><timerExpression>{text}</timerExpression></timerEventListener>"
        event = parse_definition(case(item("t") + timer)).nodes["t-item"].event
        assert event is not None
        assert event.timer is not None
        assert event.timer.kind is kind

    def test_a_process_is_called_by_its_name(self) -> None:
        source = case(f'{item("t")}<processTask id="t" processRef="r"/>')
        source = source.replace(b"<case ", b'<process id="r" name="Order a part"/><case ', 1)
        assert parse_definition(source).nodes["t-item"].called == "Order-a-part"

    def test_a_form_elsewhere_is_listed(self) -> None:
        body = f'{item("h")}<humanTask id="h" camunda:formKey="embedded:app:x.html"/>'
        assert self.lists(body)[0] == [("h", "camunda:formKey embedded:app:x.html")]
