"""Decisions that processes and cases call."""

from typing import Any

import pytest

from processes.workflows.engine.bpmn.parser import parse_bpmn
from processes.workflows.engine.definition import Definition
from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.problems import InvalidDefinition
from processes.workflows.engine.runner import CommandFailed
from tests.processes.workflows import case_files
from tests.processes.workflows.decision_files import DISCOUNT, decision, dmn, literal, table
from tests.processes.workflows.engine.cases.case_driver import CaseDriver
from tests.processes.workflows.engine.process_driver import ProcessDriver
from tests.processes.workflows.process_files import chain, process, user

SPACES = {
    "camunda": "http://camunda.org/schema/1.0/bpmn",
    "operaton": "http://operaton.org/schema/1.0/bpmn",
    "flowable": "http://flowable.org/bpmn",
    "activiti": "http://activiti.org/bpmn",
    "zeebe": "http://camunda.org/schema/zeebe/1.0",
}
TWO_OUTPUTS = dmn(decision("two", table(["x"], ["a", "b"], [["> 1", "1", "2"], ["> 2", "3", "4"]], hit="COLLECT")))
GOLD = {"status": "gold", "total": 1}
MANY = dmn(decision("many", table(["x"], ["r"], [["> 1", '"a"'], ["> 2", '"b"']], hit="RULE ORDER")))


def rules(attributes: str = "", inside: str = "", element: str = "businessRuleTask") -> Definition:
    """Read a process of one task that calls a decision, then a user task."""
    spaces = "".join(f' xmlns:{prefix}="{space}"' for prefix, space in SPACES.items())
    text = f'<{element} id="rule"{spaces} {attributes}><extensionElements>{inside}</extensionElements></{element}>'
    return parse_definition(chain("p", ("rule", text), user("after")))


def run(definition: Definition, *sources: bytes, **variables: Any) -> dict[str, Any]:
    """Start the process; return its variables, and where they were not changed by the decision."""
    driver = ProcessDriver(definition, *(parse_definition(source) for source in sources), **variables)
    assert [task["element"] for task in driver.state["tasks"].values()] == ["after"]
    (scope,) = driver.state["scopes"].values()
    return {name: value for name, value in scope["variables"].items() if name not in variables}


class TestDialects:
    @pytest.mark.parametrize(
        ("attributes", "inside"),
        [
            ('camunda:decisionRef="discount" camunda:resultVariable="r" camunda:mapDecisionResult="singleEntry"', ""),
            (
                'operaton:decisionRef="discount" operaton:resultVariable="r" operaton:mapDecisionResult="singleEntry"',
                "",
            ),
            ('postern:decision="discount" postern:result="r"', ""),
            ("", '<zeebe:calledDecision decisionId="discount" resultVariable="r"/>'),
            ("", '<zeebe:calledDecision decisionId="= which" resultVariable="r"/>'),
            (
                'camunda:decisionRef="${which}" camunda:resultVariable="r" camunda:mapDecisionResult="singleEntry"',
                "",
            ),
        ],
    )
    def test_a_result_variable_gets_the_result(self, attributes: str, inside: str) -> None:
        found = run(rules(attributes, inside), DISCOUNT, status="gold", total=1, which="discount")
        assert found == {"r": 0.15}

    @pytest.mark.parametrize(
        ("attributes", "inside", "element"),
        [
            ('flowable:decisionTableReferenceKey="discount"', "", "businessRuleTask"),
            ('activiti:decisionTableReferenceKey="discount"', "", "businessRuleTask"),
            (
                'flowable:type="dmn"',
                '<flowable:field name="decisionTableReferenceKey"><flowable:string>discount</flowable:string>'
                "</flowable:field>",
                "serviceTask",
            ),
            ('camunda:decisionRef="discount"', "", "businessRuleTask"),
            ('postern:decision="discount"', "", "businessRuleTask"),
        ],
    )
    def test_without_a_variable_each_output_has_its_own(self, attributes: str, inside: str, element: str) -> None:
        assert run(rules(attributes, inside, element), DISCOUNT, status="gold", total=1) == {"discount": 0.15}

    def test_a_rule_task_that_names_no_decision_is_work_for_others(self) -> None:
        driver = ProcessDriver(rules())
        (task,) = driver.state["tasks"].values()
        assert (task["kind"], task["topic"]) == ("external", "rule")

    @pytest.mark.parametrize(
        ("mapping", "source", "result"),
        [
            ("singleEntry", DISCOUNT, 0.15),
            ("singleResult", DISCOUNT, {"discount": 0.15}),
            ("collectEntries", MANY, ["a", "b"]),
            ("resultList", MANY, [{"r": "a"}, {"r": "b"}]),
            ("", MANY, [{"r": "a"}, {"r": "b"}]),
            ("resultList", TWO_OUTPUTS, [{"a": 1, "b": 2}, {"a": 3, "b": 4}]),
        ],
    )
    def test_maps_the_result(self, mapping: str, source: bytes, result: Any) -> None:
        key = parse_definition(source).key
        mapped = f' camunda:mapDecisionResult="{mapping}"' if mapping else ""
        definition = rules(f'camunda:decisionRef="{key}" camunda:resultVariable="out"{mapped}')
        assert run(definition, source, x=3, status="gold", total=1) == {"out": result}

    @pytest.mark.parametrize(
        ("mapping", "source"),
        [("singleEntry", MANY), ("singleResult", MANY), ("collectEntries", TWO_OUTPUTS), ("singleEntry", TWO_OUTPUTS)],
    )
    def test_a_mapping_that_does_not_fit_is_an_incident(self, mapping: str, source: bytes) -> None:
        key = parse_definition(source).key
        attributes = f'camunda:decisionRef="{key}" camunda:resultVariable="r" camunda:mapDecisionResult="{mapping}"'
        with pytest.raises(CommandFailed) as caught:
            run(rules(attributes), source, x=3)
        assert caught.value.element == "rule"

    @pytest.mark.parametrize(
        "attributes",
        [
            'camunda:decisionRef="a b"',
            'camunda:decisionRef="d" camunda:resultVariable="a b"',
            'camunda:decisionRef="d" camunda:resultVariable="r" camunda:mapDecisionResult="some"',
            'camunda:decisionRef="${1 +}"',
        ],
    )
    def test_what_cannot_be_called_is_refused(self, attributes: str) -> None:
        # As it stands: of a file of another tool it is translated, or listed, before it comes so far.
        text = f'<businessRuleTask id="rule" xmlns:camunda="{SPACES["camunda"]}" {attributes}/>'
        with pytest.raises(InvalidDefinition):
            parse_bpmn(chain("p", ("rule", text), user("after")))


class TestCallDecision:
    def test_the_revision_and_the_rules_are_noted_in_the_state_alone_that_they_led_to(self) -> None:
        driver = ProcessDriver(
            rules('postern:decision="discount"'), parse_definition(DISCOUNT), status="silver", total=150
        )
        note = {"element": "rule", "decision": "discount", "revision": 1, "rules": [2], "times": 1}
        assert driver.state["decisions"] == [note]
        driver.complete("after")
        assert "decisions" not in driver.state

    def test_one_that_is_evaluated_in_rounds_is_noted_once(self) -> None:
        loop = (
            "<multiInstanceLoopCharacteristics><loopCardinality>3</loopCardinality></multiInstanceLoopCharacteristics>"
        )
        text = f'<businessRuleTask id="rule" postern:decision="discount">{loop}</businessRuleTask>'
        driver = ProcessDriver(
            parse_bpmn(chain("p", ("rule", text), user("after"))), parse_definition(DISCOUNT), status="gold", total=1
        )
        assert [(note["decision"], note["times"]) for note in driver.state["decisions"]] == [("discount", 3)]

    @pytest.mark.parametrize(
        ("sources", "reason"),
        [
            ((), "There is no definition discount."),
            ((chain("discount", user("a")),), "discount is not a decision."),
            (
                (dmn(decision("discount", table(["x"], ["r"], [["-", "1"], ["-", "2"]]))),),
                "discount: The rules 1, 2 match at once, which the hit policy UNIQUE does not allow.",
            ),
            (
                (dmn(decision("discount", literal("for a in 1..9999, b in 1..9999 return a"))),),
                "discount: A list of more than 10,000 items cannot be processed.",
            ),
        ],
    )
    def test_what_fails_is_an_incident_at_its_element(self, sources: tuple[bytes, ...], reason: str) -> None:
        with pytest.raises(CommandFailed) as caught:
            run(rules('postern:decision="discount"'), *sources)
        assert (caught.value.element, caught.value.reason) == ("rule", reason)

    def test_many_that_are_dear_end_the_command(self) -> None:
        dear = dmn(decision("dear", literal("some a in 1..50, b in 1..100 satisfies a + b < 0")))
        text = '<businessRuleTask id="rule" postern:decision="dear" postern:result="r"/>'
        loop = '<sequenceFlow id="back" sourceRef="rule" targetRef="rule"/>'
        source = process(
            "p", '<startEvent id="s"/>', text, '<sequenceFlow id="f" sourceRef="s" targetRef="rule"/>', loop
        )
        with pytest.raises(CommandFailed) as caught:
            ProcessDriver(parse_bpmn(source), parse_definition(dear))
        assert "steps in expressions" in caught.value.reason


class TestCases:
    def test_a_decision_task_completes_with_its_decision(self) -> None:
        task = (
            '<planItem id="D" definitionRef="D_def"/>'
            '<decisionTask id="D_def" xmlns:camunda="http://camunda.org/schema/1.0/cmmn" decisionRef="discount"'
            ' camunda:resultVariable="r" camunda:mapDecisionResult="singleEntry"/>'
        )
        source = case_files.case(task, case_files.human("A", entry="D complete if r == 0.15"))
        driver = CaseDriver(source, DISCOUNT.decode(), variables=GOLD)
        states = {item["element"]: item["state"] for item in driver.state["items"].values()}
        assert (states["D"], states["A"]) == ("completed", "active")
        assert driver.state["decisions"][0]["element"] == "D"

    def test_the_file_may_name_the_decision_outside(self) -> None:
        task = '<planItem id="D" definitionRef="D_def"/><decisionTask id="D_def" decisionRef="dec"/>'
        outside = '<decision id="dec" name="x" externalRef="discount"/>'
        source = case_files.case(task, case_files.human("A"), roots=outside)
        driver = CaseDriver(source, DISCOUNT.decode(), variables=GOLD)
        assert driver.state["decisions"][0]["decision"] == "discount"

    def test_one_that_names_no_decision_is_work_for_others(self) -> None:
        body = '<planItem id="D" definitionRef="D_def"/><decisionTask id="D_def"/>'
        node = case_files.read(body, case_files.human("A")).nodes["D"]
        assert (node.handler, node.topic) == ("external", "D_def")
