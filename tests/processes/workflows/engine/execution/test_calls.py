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
        if isinstance(revision, str):
            tagged = [number for number, each in enumerate(known, 1) if each.version_tag == revision]
            revision = tagged[-1] if tagged else 0
        number = len(known) if revision is None else revision
        if key != "callee" or not 0 < number <= len(known):
            raise LookupError(key)
        return known[number - 1], number

    command = {"command": "start", "definition": [caller.key, 1], "variables": variables}
    return run_command(library, None, command, AT).state


def callee(task: str, tag: str = "") -> bytes:
    body = f'<startEvent id="s"/><userTask id="{task}"/><sequenceFlow sourceRef="s" targetRef="{task}"/>'
    return f'{HEAD}<process id="callee" isExecutable="true" {tag}>{body}</process></definitions>'.encode()


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
            ('camunda:calledElementBinding="versionTag" camunda:calledElementVersionTag="a"', "first"),
            ('camunda:calledElementVersionTag="${tag}"', "first"),
            ('postern:tag="tag"', "first"),
        ],
    )
    def test_calls_the_revision_that_is_bound(self, binding: str, expected: str) -> None:
        source = ForeignFile(chain(f'<callActivity id="c" calledElement="callee" {binding}/>'), "").source
        source = source.replace(b"<definitions ", b'<definitions xmlns:postern="https://postern.dev/bpmn/1.0" ', 1)
        others = [callee("oldest", 'camunda:versionTag="a"'), callee("first", 'camunda:versionTag="a"')]
        if "version" in binding and "Tag" not in binding:
            others.pop(0)
        assert opened(run(source, [*others, callee("second")], wanted="1", tag="a")) == [expected]

    @pytest.mark.parametrize(("tag", "reason"), [("b", "no revision of .* with the tag b"), (1, "version tag")])
    def test_a_tag_that_nobody_has_fails(self, tag: Any, reason: str) -> None:
        call = '<callActivity id="c" calledElement="callee" camunda:calledElementVersionTag="${tag}"/>'
        with pytest.raises(CommandFailed, match=reason):
            run(ForeignFile(chain(call), "").source, [callee("first", 'camunda:versionTag="a"')], tag=tag)

    def test_zeebe_tags_and_binds(self) -> None:
        tagged = callee("first").replace(
            b"<startEvent", extended('<zeebe:versionTag value="1.0"/>').encode() + b"<startEvent", 1
        )
        call = extended('<zeebe:calledElement processId="callee" bindingType="versionTag" versionTag="1.0"/>')
        source = ForeignFile(chain(f'<callActivity id="c">{call}</callActivity>'), "").source
        assert opened(run(source, [tagged, callee("second")])) == ["first"]
        report = parse_file(source).report
        assert ("zeebe:versionTag", "the newest revision with the tag 1.0") in [
            (entry.what, entry.after) for entry in report.translated
        ]

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

    @pytest.mark.parametrize("tag", ['camunda:versionTag="a"', 'operaton:versionTag="a"'])
    def test_evaluates_the_one_with_the_tag(self, tag: str) -> None:
        task = (
            '<businessRuleTask id="t" camunda:decisionRef="callee" camunda:resultVariable="r"'
            ' camunda:decisionRefBinding="versionTag" camunda:decisionRefVersionTag="a"/>'
        )
        tagged = (
            DMN.format(1)
            .replace("<decision ", f"<decision {tag} ", 1)
            .replace(
                "<definitions ",
                '<definitions xmlns:camunda="http://camunda.org/schema/1.0/dmn"'
                ' xmlns:operaton="http://operaton.org/schema/1.0/dmn" ',
                1,
            )
        )
        source = ForeignFile(chain(task, '<userTask id="u"/>'), "").source
        state = run(source, [tagged.encode(), DMN.format(2).encode()])
        assert next(iter(state["scopes"].values()))["variables"]["r"][0]["answer"] == 1


class TestReport:
    @pytest.mark.parametrize(
        ("binding", "told"),
        [
            ('camunda:calledElementBinding="version" camunda:calledElementVersion="3"', "revision 3"),
            ('camunda:calledElementBinding="deployment"', "the latest revision: files are published one at a time"),
            ('camunda:calledElementVersionTag="a"', "the newest revision with the tag a"),
            ('camunda:calledElementBinding="versionTag"', "No version tag is named; the latest revision is called."),
            (
                'camunda:calledElementVersionTag="${bean.tag()}"',
                "The version tag is code; the latest revision is called.",
            ),
            (
                'camunda:calledElementBinding="version" camunda:calledElementVersion="new"',
                "This is not a revision number; the latest revision is called.",
            ),
        ],
    )
    def test_says_which_revision_is_called(self, binding: str, told: str) -> None:
        report = parse_file(ForeignFile(chain(f'<callActivity id="c" calledElement="x" {binding}/>'), "").source).report
        assert told in [entry.after for entry in report.translated] + [entry.why for entry in report.drawn]

    def test_a_case_binds_its_tasks(self) -> None:
        source = (
            b'<definitions xmlns="http://www.omg.org/spec/CMMN/20151109/MODEL"'
            b' xmlns:camunda="http://camunda.org/schema/1.0/cmmn"><case id="k"><casePlanModel id="m">'
            b'<planItem id="i" definitionRef="t"/><processTask id="t" processRef="callee"'
            b' camunda:processBinding="version" camunda:processVersion="1"/></casePlanModel></case></definitions>'
        )
        assert opened(run(source, [callee("first"), callee("second")])) == ["first"]
