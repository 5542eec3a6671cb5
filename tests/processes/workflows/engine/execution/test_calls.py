"""A file may name the revision that it calls; without a number the newest is called."""

from datetime import UTC, datetime
from typing import Any

import pytest

from processes.workflows.engine.definition import Definition
from processes.workflows.engine.parser import parse_file
from processes.workflows.engine.runner import CommandFailed, InstanceState, run_command
from tests.processes.workflows.engine.dialects.foreign_elements import HEAD, ForeignFile, chain, extended

AT = datetime(2030, 1, 1, tzinfo=UTC)
DMN = (
    '<definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" id="d" name="d" namespace="n">'
    '<decision id="callee" name="c"><variable name="answer"/><literalExpression><text>{}</text></literalExpression>'
    "</decision></definitions>"
)


def run(source: bytes, others: list[bytes], **variables: Any) -> InstanceState:
    """Start an instance; `others` are the revisions of what it calls."""
    known = [parse_file(other).definitions[0] for other in others]
    caller = parse_file(source).definitions[0]

    def library(key: str, revision: int | str | None) -> tuple[Definition, int]:
        if key == caller.key:
            return caller, 1
        number = len(known) if revision is None else revision
        if key != "callee" or not 0 < number <= len(known):
            raise LookupError(key)
        return known[number - 1], number

    command = {"command": "start", "definition": [caller.key, 1], "variables": variables}
    return run_command(library, None, command, AT).state


def callee(task: str) -> bytes:
    body = f'<startEvent id="s"/><userTask id="{task}"/><sequenceFlow sourceRef="s" targetRef="{task}"/>'
    return f'{HEAD}<process id="callee" isExecutable="true">{body}</process></definitions>'.encode()


def opened(state: InstanceState) -> list[str]:
    return [task["element"] for task in state["tasks"].values()]


class TestCallActivity:
    @pytest.mark.parametrize(
        ("binding", "expected"),
        [
            ("", "second"),
            ('camunda:calledElementBinding="latest"', "second"),
            ('camunda:calledElementBinding="version" camunda:calledElementVersion="1"', "first"),
            ('operaton:calledElementBinding="version" operaton:calledElementVersion="${wanted}"', "first"),
            ('camunda:calledElementBinding="deployment"', "second"),
            ('camunda:calledElementBinding="versionTag" camunda:calledElementVersionTag="a"', "second"),
        ],
    )
    def test_calls_the_revision_that_is_bound(self, binding: str, expected: str) -> None:
        source = ForeignFile(chain(f'<callActivity id="c" calledElement="callee" {binding}/>'), "").source
        assert opened(run(source, [callee("first"), callee("second")], wanted="1")) == [expected]

    @pytest.mark.parametrize(
        ("wanted", "reason"), [(7, "no revision 7"), ("x", "number of a revision"), (True, "number")]
    )
    def test_one_that_is_not_there_fails(self, wanted: Any, reason: str) -> None:
        binding = 'camunda:calledElementBinding="version" camunda:calledElementVersion="${wanted}"'
        source = ForeignFile(chain(f'<callActivity id="c" calledElement="callee" {binding}/>'), "").source
        with pytest.raises(CommandFailed, match=reason):
            run(source, [callee("first")], wanted=wanted)

    def test_what_may_not_be_called_is_not_by_its_number_either(self) -> None:
        binding = 'camunda:calledElementBinding="version" camunda:calledElementVersion="1"'
        caller = parse_file(ForeignFile(chain(f'<callActivity id="c" calledElement="callee" {binding}/>'), "").source)

        def library(key: str, revision: int | str | None) -> tuple[Definition, int]:
            if key == "callee" and revision is None:
                raise LookupError(key)  # it belongs to another enterprise
            return (parse_file(callee("first")) if key == "callee" else caller).definitions[0], 1

        with pytest.raises(CommandFailed, match="no revision 1"):
            run_command(library, None, {"command": "start", "definition": ["p", 1], "variables": {}}, AT)


class TestDecision:
    @pytest.mark.parametrize(
        ("task", "answer"),
        [
            ('<businessRuleTask id="t" camunda:decisionRef="callee" camunda:resultVariable="r"', 2),
            (
                '<businessRuleTask id="t" camunda:decisionRef="callee" camunda:resultVariable="r"'
                ' camunda:mapDecisionResult="singleEntry" camunda:decisionRefBinding="version"'
                ' camunda:decisionRefVersion="1"',
                1,
            ),
        ],
    )
    def test_evaluates_the_revision_that_is_bound(self, task: str, answer: int) -> None:
        source = ForeignFile(chain(f"{task}/>", '<userTask id="u"/>'), "").source
        state = run(source, [DMN.format(1).encode(), DMN.format(2).encode()])
        written = next(iter(state["scopes"].values()))["variables"]["r"]
        assert (written if answer == 1 else written[0]["answer"]) == answer


class TestReport:
    @pytest.mark.parametrize(
        ("binding", "told"),
        [
            ('camunda:calledElementBinding="version" camunda:calledElementVersion="3"', "revision 3"),
            ('camunda:calledElementBinding="deployment"', "the latest revision: files are published one at a time"),
            ('camunda:calledElementVersionTag="a"', "Version tags are not supported; the latest revision is called."),
            (
                'camunda:calledElementBinding="version" camunda:calledElementVersion="new"',
                "This is not a revision number; the latest revision is called.",
            ),
        ],
    )
    def test_says_which_revision_is_called(self, binding: str, told: str) -> None:
        report = parse_file(ForeignFile(chain(f'<callActivity id="c" calledElement="x" {binding}/>'), "").source).report
        assert told in [entry.after for entry in report.translated] + [entry.why for entry in report.drawn]

    def test_zeebe_binds_to_the_newest(self) -> None:
        call = extended('<zeebe:calledElement processId="x" bindingType="versionTag" versionTag="a"/>')
        report = parse_file(ForeignFile(chain(f'<callActivity id="c">{call}</callActivity>'), "").source).report
        assert [entry.what for entry in report.drawn] == ["zeebe:versionTag a"]

    def test_a_case_binds_its_tasks(self) -> None:
        source = (
            b'<definitions xmlns="http://www.omg.org/spec/CMMN/20151109/MODEL"'
            b' xmlns:camunda="http://camunda.org/schema/1.0/cmmn"><case id="k"><casePlanModel id="m">'
            b'<planItem id="i" definitionRef="t"/><processTask id="t" processRef="callee"'
            b' camunda:processBinding="version" camunda:processVersion="1"/></casePlanModel></case></definitions>'
        )
        assert opened(run(source, [callee("first"), callee("second")])) == ["first"]
