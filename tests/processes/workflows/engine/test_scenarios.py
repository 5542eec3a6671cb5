from typing import Any

import pytest

from processes.workflows.engine import scenarios
from processes.workflows.engine.definition import Definition
from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.scenarios import Played, Scenario, find_uncovered, play_scenario


def build(body: str) -> Definition:
    spaces = 'xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:postern="https://postern.dev/bpmn/1.0"'
    return parse_definition(
        f'<definitions {spaces}><process id="p" isExecutable="true">{body}</process></definitions>'.encode()
    )


ORDER = build(
    """
  <startEvent id="start"/><sequenceFlow id="f1" sourceRef="start" targetRef="check"/>
  <userTask id="check"/><sequenceFlow id="f2" sourceRef="check" targetRef="which"/>
  <exclusiveGateway id="which" default="f4"/>
  <sequenceFlow id="f3" sourceRef="which" targetRef="refuse">
    <conditionExpression>amount > 100</conditionExpression>
  </sequenceFlow>
  <sequenceFlow id="f4" sourceRef="which" targetRef="ship"/>
  <endEvent id="refuse"/>
  <serviceTask id="ship" postern:handler="external"/><sequenceFlow id="f5" sourceRef="ship" targetRef="done"/>
  <boundaryEvent id="late" attachedToRef="ship">
    <timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition>
  </boundaryEvent>
  <sequenceFlow id="f6" sourceRef="late" targetRef="refuse"/>
  <boundaryEvent id="broken" attachedToRef="ship"><errorEventDefinition/></boundaryEvent>
  <sequenceFlow id="f7" sourceRef="broken" targetRef="refuse"/>
  <endEvent id="done"/>
""".replace('errorRef="e"', "")
)
CHECKED: dict[str, Any] = {"complete": "check", "variables": {"amount": 5}}


def play(definition: Definition, *steps: dict[str, Any], **more: Any) -> Played:
    def nothing(key: str, revision: int | str | None) -> tuple[Definition, int]:
        raise AssertionError(key)

    return play_scenario(Scenario("a", steps, **more), definition, nothing)


class TestPlayScenario:
    def test_passes_when_everything_is_as_expected(self) -> None:
        played = play(
            ORDER,
            CHECKED,
            {"expect": {"tasks": ["ship"], "status": "active", "variables": {"amount": 5}}},
            {"work": "ship"},
            {
                "expect": {
                    "status": "completed",
                    "path": ["start", "check", "which", "ship", "done"],
                    "avoids": ["late"],
                }
            },
        )

        assert played.failures == []

    @pytest.mark.parametrize(
        ("expected", "failure"),
        [
            ({"status": "completed"}, "Step 2: the instance is active, not completed."),
            ({"path": ["start"]}, "Step 2: it passed start, check, which, ship."),
            ({"passes": ["refuse"]}, "Step 2: it did not pass refuse."),
            ({"avoids": ["ship"]}, "Step 2: it passed ship."),
            ({"variables": {"amount": 6}}, "Step 2: amount is 5, not 6."),
            ({"variables": {"sum": None}}, "Step 2: there is no sum."),
            ({"tasks": []}, "Step 2: the open tasks are ship."),
        ],
    )
    def test_says_what_is_different(self, expected: dict[str, Any], failure: str) -> None:
        assert play(ORDER, CHECKED, {"expect": expected}).failures == [failure]

    def test_time_passes_by_a_step_alone(self) -> None:
        assert play(ORDER, CHECKED, {"wait": "PT59M"}, {"expect": {"tasks": ["ship"]}}).is_passed
        assert play(ORDER, CHECKED, {"wait": "PT1H"}, {"expect": {"passes": ["late", "refuse"]}}).is_passed

    def test_work_that_fails_by_a_code_is_caught(self) -> None:
        failed = {"work": "ship", "error": {"code": "no-stock", "message": "none left"}}

        assert play(ORDER, CHECKED, failed, {"expect": {"passes": ["broken"], "status": "completed"}}).is_passed

    @pytest.mark.parametrize(
        ("step", "failure"),
        [
            ({"complete": "ship"}, "There is no open task at ship."),
            ({"message": "none"}, "Nothing waits for the message none."),
            ({"event": "custom.none"}, "Nothing waits for the event custom.none."),
            ({"wait": "soon"}, "soon is not a duration."),
            ({"dance": True}, 'This step cannot be played: {"dance": true}'),
        ],
    )
    def test_ends_at_what_nobody_can_play(self, step: dict[str, Any], failure: str) -> None:
        assert play(ORDER, step, {"expect": {"status": "completed"}}).failures == [failure]

    def test_a_definition_that_fails_is_a_failure(self) -> None:
        assert not play(ORDER, {"complete": "check", "variables": {"amount": "much"}}).is_passed

    def test_a_clock_that_never_rests_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(scenarios, "MOST_TIMERS", 3)
        every = "<timerEventDefinition><timeCycle>R/PT1M</timeCycle></timerEventDefinition>"
        definition = build(
            '<startEvent id="start"/><sequenceFlow id="f" sourceRef="start" targetRef="t"/><userTask id="t"/>'
            f'<boundaryEvent id="b" attachedToRef="t" cancelActivity="false">{every}</boundaryEvent>'
            '<sequenceFlow id="g" sourceRef="b" targetRef="e"/><endEvent id="e"/>'
        )

        assert play(definition, {"wait": "P1D"}).failures == ["More than 3 timers fall due."]

    def test_events_reach_whoever_waits(self) -> None:
        definition = build(
            '<startEvent id="start"/><sequenceFlow id="f" sourceRef="start" targetRef="t"/>'
            '<intermediateCatchEvent id="t"><signalEventDefinition signalRef="s"/></intermediateCatchEvent>'
            '<sequenceFlow id="g" sourceRef="t" targetRef="e"/><endEvent id="e"/></process>'
            '<signal id="s" name="custom.paid"/><process id="q">'
        )

        paid = {"event": "custom.paid", "payload": {"sum": 7}}
        assert play(definition, paid, {"expect": {"status": "completed"}}).is_passed


class TestFindUncovered:
    def test_names_what_no_scenario_enters(self) -> None:
        few = [play(ORDER, CHECKED, {"work": "ship"})]

        assert find_uncovered(ORDER, few) == ["refuse", "late", "broken"]
        many = [
            *few,
            play(ORDER, CHECKED, {"wait": "PT2H"}),
            play(ORDER, CHECKED, {"work": "ship", "error": {"code": "x"}}),
        ]
        assert find_uncovered(ORDER, many) == []
