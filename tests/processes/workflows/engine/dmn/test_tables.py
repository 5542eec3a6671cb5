"""Decision tables by each hit policy."""

from typing import Any

import pytest

from processes.workflows.engine.dmn.evaluation import EvaluationFailed
from processes.workflows.engine.problems import InvalidDefinition
from tests.processes.workflows.decision_files import DISCOUNT, decision, dmn, table
from tests.processes.workflows.engine.dmn.evaluate import decide

LEVELS = [["> 10", '"low"', "1"], ["> 20", '"high"', "5"], ["> 30", '"low"', "2"]]


def levels(hit: str, outputs: int = 1, **more: str) -> bytes:
    names = ["level", "weight"][:outputs]
    rules = [rule[: 1 + outputs] for rule in LEVELS]
    return dmn(decision("d", table(["x"], names, rules, hit=hit, **more)))


def weights(hit: str, aggregation: str) -> bytes:
    rules = [[rule[0], rule[2]] for rule in LEVELS]
    return dmn(decision("d", table(["x"], ["weight"], rules, hit=hit, aggregation=aggregation)))


class TestUnique:
    def test_the_rule_that_matches_decides(self) -> None:
        found = decide(DISCOUNT, status="silver", total=150)
        assert found.result == 0.1
        assert found.main.rules[0].number == 2
        assert found.main.inputs == (("status", "silver"), ("total", 150))

    def test_without_a_match_the_default_decides(self) -> None:
        assert decide(DISCOUNT, status="new", total=1).result == 0

    def test_two_that_match_are_a_failure_that_names_them(self) -> None:
        with pytest.raises(EvaluationFailed) as caught:
            decide(levels("UNIQUE"), x=25)
        assert "rules 1, 2 match at once" in caught.value.reason

    def test_without_a_match_and_default_it_is_null(self) -> None:
        assert decide(levels("UNIQUE"), x=5).result is None


class TestOtherPolicies:
    @pytest.mark.parametrize(
        ("hit", "x", "result"),
        [
            ("FIRST", 25, "low"),
            ("F", 25, "low"),
            ("ANY", 15, "low"),
            ("COLLECT", 35, ["low", "high", "low"]),
            ("RULE ORDER", 25, ["low", "high"]),
            ("COLLECT", 5, []),
            ("FIRST", 5, None),
        ],
    )
    def test_by_policy(self, hit: str, x: int, result: Any) -> None:
        assert decide(levels(hit), x=x).result == result

    def test_any_needs_equal_outputs(self) -> None:
        with pytest.raises(EvaluationFailed) as caught:
            decide(levels("ANY"), x=25)
        assert "different outputs" in caught.value.reason

    def test_priority_takes_the_most_important_output(self) -> None:
        assert decide(levels("PRIORITY", values='"high", "low"'), x=25).result == "high"

    def test_output_order_sorts_by_importance(self) -> None:
        assert decide(levels("OUTPUT ORDER", values='"high", "low"'), x=35).result == ["high", "low", "low"]

    @pytest.mark.parametrize(
        ("aggregation", "x", "result"),
        [("SUM", 35, 8), ("MIN", 35, 1), ("MAX", 35, 5), ("COUNT", 35, 3), ("COUNT", 5, 0), ("SUM", 5, None)],
    )
    def test_aggregations(self, aggregation: str, x: int, result: Any) -> None:
        assert decide(weights("COLLECT", aggregation), x=x).result == result

    def test_several_outputs_are_a_context(self) -> None:
        assert decide(levels("FIRST", outputs=2), x=15).result == {"level": "low", "weight": 1}

    def test_several_rules_of_several_outputs_are_a_list_of_contexts(self) -> None:
        found = decide(levels("COLLECT", outputs=2), x=25)
        assert found.result == [{"level": "low", "weight": 1}, {"level": "high", "weight": 5}]
        assert found.main.rows == tuple(found.result)


class TestEntries:
    def test_text_is_read_as_the_declared_type(self) -> None:
        rules = [['< date("2026-01-01")', '"old"'], ['>= date("2026-01-01")', '"new"']]
        source = dmn(decision("d", table(["day"], ["age"], rules, types=["date"])))
        assert decide(source, day="2025-12-31").result == "old"

    def test_an_entry_may_name_other_variables(self) -> None:
        source = dmn(decision("d", table(["x"], ["r"], [["> limit", '"over"'], ["-", '"under"']], hit="FIRST")))
        assert [decide(source, x=5, limit=limit).result for limit in (4, 6)] == ["over", "under"]

    def test_an_empty_output_is_null(self) -> None:
        assert decide(dmn(decision("d", table(["x"], ["r"], [["-", ""]]))), x=1).result is None

    def test_outputs_are_expressions(self) -> None:
        assert decide(dmn(decision("d", table(["x"], ["r"], [["-", "x * 2"]]))), x=4).result == 8


class TestRefused:
    @pytest.mark.parametrize(
        ("logic", "message"),
        [
            (table(["x"], ["r"], [["foo(", "1"]]), "The entry “foo(” cannot be read"),
            (table(["x"], ["r"], [["-", "1 +"]]), "The expression “1 +” cannot be read"),
            (table(["x"], ["r"], [], hit="SOMETIMES"), "There is no hit policy"),
            (table(["x"], ["r"], [], hit="COLLECT", aggregation="MOST"), "There is no aggregation"),
            (table(["x"], ["r"], [], hit="UNIQUE", aggregation="SUM"), "Only a table that collects"),
            (table(["x"], ["r"], [], hit="PRIORITY"), "the output lists its values"),
            (table(["x"], ["r", "r"], []), "the same name"),
            (table(["x"], [], []), "has an output"),
            (table(["x"], ["r"], [["-", "1"]]).replace("</inputEntry>", "</inputEntry><inputEntry/>"), "1 input and 1"),
            (
                table(["x"], ["r"], []).replace("<inputExpression", '<inputExpression expressionLanguage="groovy"'),
                "not in “groovy”",
            ),
            (table([f"x{at}" for at in range(101)], ["r"], []), "at most 100 columns"),
            (table(["x"], ["r"], [["-", "1"]] * 2001), "2000 rules"),
            (table([f"x{at}" for at in range(99)], ["r"], [["-"] * 99 + ["1"]] * 201), "20000 entries"),
        ],
    )
    def test_says_what_is_wrong_and_where(self, logic: str, message: str) -> None:
        with pytest.raises(InvalidDefinition) as caught:
            decide(dmn(decision("d", logic)))
        problem = next(each for each in caught.value.problems if message in each.message)
        assert (problem.element, problem.line > 1) == ("d", True)

    @pytest.mark.parametrize(
        ("rules", "count"),
        [
            ([[f"< {at}", f"<= {at}", f"{at} + {at}"] for at in range(1, 1701)], 1667),
            ([["-", "-", f'"{"x" * 400}{at}"'] for at in range(1000, 1600)], 493),
        ],
    )
    def test_more_expressions_than_a_file_may_have_are_refused(self, rules: list[list[str]], count: int) -> None:
        with pytest.raises(InvalidDefinition) as caught:
            decide(dmn(decision("d", table(["x", "y"], ["r"], rules))))
        assert "over 5000 different expressions, or 200000 characters" in str(caught.value)
        decide(dmn(decision("d", table(["x", "y"], ["r"], rules[: count - 10], hit="FIRST"))))
