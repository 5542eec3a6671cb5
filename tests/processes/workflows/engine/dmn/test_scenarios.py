"""Scenarios of decisions."""

from typing import Any

import pytest

from processes.workflows.engine.parser import parse_definition
from processes.workflows.engine.scenarios import Played, Scenario, find_uncovered, play_scenario
from tests.processes.workflows.decision_files import DISCOUNT, decision, dmn, literal, table

SILVER = {"status": "silver", "total": 150}
MANY = dmn(decision("d", table(["x"], ["r"], [["> 1", "1"], ["> 2", "2"]], hit="COLLECT")))
BOTH = dmn(decision("d", table(["x"], ["r"], [["> 1", "1"], ["> 2", "2"]])))


def play(source: bytes, given: dict[str, Any], *steps: dict[str, Any]) -> Played:
    definition = parse_definition(source)
    return play_scenario(Scenario("s", list(steps), given), definition, lambda key, revision: (definition, 1))


@pytest.mark.parametrize(
    ("source", "given", "expected"),
    [
        (DISCOUNT, SILVER, {"variables": {"discount": 0.1}, "passes": ["rule2"], "avoids": ["rule1"]}),
        (DISCOUNT, SILVER, {"variables": {"result": 0.1}}),
        (MANY, {"x": 3}, {"variables": {"r": [1, 2]}}),
        (dmn(decision("d", literal("x + 1"))), {"x": 1}, {"variables": {"d": 2}}),
    ],
)
def test_what_comes_as_expected_passes(source: bytes, given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert play(source, given, {"expect": expected}).failures == []


@pytest.mark.parametrize(
    ("source", "given", "step", "failure"),
    [
        (DISCOUNT, SILVER, {"expect": {"variables": {"discount": 1}}}, "Step 1: discount is 0.1, not 1."),
        (DISCOUNT, SILVER, {"expect": {"variables": {"other": 1}}}, "Step 1: there is no other."),
        (DISCOUNT, SILVER, {"expect": {"passes": ["rule1"]}}, "Step 1: the rule rule1 does not match."),
        (DISCOUNT, SILVER, {"expect": {"avoids": ["rule2"]}}, "Step 1: the rule rule2 matches."),
        (DISCOUNT, SILVER, {"complete": "x"}, "Step 1: a decision is evaluated at once: only expect has a meaning."),
        (BOTH, {"x": 3}, {"expect": {}}, "The rules 1, 2 match at once, which the hit policy UNIQUE does not allow."),
    ],
)
def test_what_comes_otherwise_fails(source: bytes, given: dict[str, Any], step: dict[str, Any], failure: str) -> None:
    assert play(source, given, step).failures == [failure]


def test_rules_that_no_scenario_matches_are_uncovered() -> None:
    played = play(DISCOUNT, SILVER, {"expect": {}})
    assert find_uncovered(parse_definition(DISCOUNT), [played]) == ["rule1", "rule3"]
