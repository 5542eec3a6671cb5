"""Findings in decision tables."""

from datetime import UTC, datetime
from typing import Any

import pytest

from processes.workflows.engine.lint import lint_definition
from processes.workflows.engine.parser import parse_definition
from tests.processes.workflows.decision_files import DISCOUNT, decision, dmn, literal, table

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def lint(*arguments: Any, **more: Any) -> list[tuple[str, str]]:
    source = dmn(decision("d", table(*arguments, **more)))
    return [(finding.element, finding.message) for finding in lint_definition(parse_definition(source), at=NOW)]


class TestOverlaps:
    def test_names_both_rules_and_an_input_that_they_match(self) -> None:
        rules = [["> 10", '"a"', "1"], ["<= 10", '"a"', "2"], ["> 20", "-", "3"]]
        found = lint(["x", "s"], ["r"], rules, default="0")
        assert found == [
            ("rule3", 'The rules 1 and 3 both match x = 21, s = "a", which the hit policy UNIQUE does not allow.')
        ]

    @pytest.mark.parametrize(
        "rules",
        [
            [["< 10", "1"], [">= 10", "2"]],
            [["[1..5)", "1"], ["[5..9]", "2"], ["not([1..9])", "3"]],
            [['"a"', "1"], ['not("a")', "2"]],
            [["true", "1"], ["false", "2"]],
            [['< date("2026-01-01")', "1"], ['>= date("2026-01-01")', "2"]],
        ],
    )
    def test_rules_that_share_all_inputs_are_fine(self, rules: list[list[str]]) -> None:
        assert lint(["x"], ["r"], rules) == []

    def test_other_policies_allow_it(self) -> None:
        assert lint(["x"], ["r"], [["> 1", "1"], ["-", "2"]], hit="FIRST") == []

    def test_what_is_more_than_a_comparison_is_left_alone(self) -> None:
        assert lint(["x"], ["r"], [["> y", "1"], ["> 2", "2"]]) == []


class TestGaps:
    def test_an_input_that_no_rule_matches(self) -> None:
        [(_, message)] = lint(["x", "s"], ["r"], [["< 10", "-", "1"], ["> 10", '"a"', "2"]])
        assert message == "No rule matches x = 10, and there is no default output."

    def test_a_combination_that_no_rule_matches(self) -> None:
        rules = [["< 10", "true", "1"], [">= 10", "true", "2"], [">= 10", "false", "3"]]
        [(_, message)] = lint(["x", "b"], ["r"], rules)
        assert message == "No rule matches x = 9, b = false, and there is no default output."

    def test_whole_numbers_have_none_between_them(self) -> None:
        rules = [["<= 5", "1"], [">= 6", "2"]]
        assert lint(["x"], ["r"], rules, types=["integer"]) == []
        assert "x = 5.5" in lint(["x"], ["r"], rules, types=["number"])[0][1]

    def test_a_default_output_fills_them(self) -> None:
        assert lint_definition(parse_definition(DISCOUNT), at=NOW) == ()

    def test_a_table_that_collects_has_none(self) -> None:
        assert lint(["x"], ["r"], [["> 1", "1"]], hit="COLLECT") == []


def test_a_literal_expression_has_no_findings() -> None:
    assert lint_definition(parse_definition(dmn(decision("d", literal("1")))), at=NOW) == ()


def test_a_large_table_is_judged_soon() -> None:
    rules = [[f"[{at}..{at + 1})", f'"{at % 7}"', "> 3", "1"] for at in range(300)]
    assert lint(["x", "s", "y"], ["r"], rules)
    assert lint(["x", "s", "y"], ["r"], [*rules, rules[0]]) == []
