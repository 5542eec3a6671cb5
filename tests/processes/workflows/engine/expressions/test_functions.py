from typing import Any

import pytest

from processes.workflows.engine.expressions import ExpressionFailed, compile_expression
from processes.workflows.engine.expressions.functions import FUNCTIONS
from tests.processes.workflows.engine.expressions.test_evaluator import same

VALUES = [
    ("len('абв')", 3),
    ("len([1, [2, 3]])", 2),
    ("len({'a': 1})", 1),
    ("lower('ÀB')", "àb"),
    ("upper('straße')", "STRASSE"),
    ("trim('  a b\n')", "a b"),
    ("contains('abc', 'bc')", True),
    ("contains(['a'], 'b')", False),
    ("starts_with('abc', 'ab')", True),
    ("ends_with('abc', 'ab')", False),
    ("min(3, 1.5, 2)", 1.5),
    ("min(['b', 'a'])", "a"),
    ("max(3, 10)", 10),
    ("max([])", None),
    ("sum([1, 2, 0.5])", 3.5),
    ("sum([])", 0),
    ("abs(-3)", 3),
    ("round(2.5)", 3),
    ("round(-2.5)", -3),
    ("round(0.5)", 1),
    ("round(7)", 7),
    ("round(2.675, 2)", 2.68),
    ("round(1e17)", 100000000000000000),
    ("round(1e300, 2)", 1e300),
    ("round(5, 2)", 5),
    ("int(-2.9)", -2),
    ("int(' +42 ')", 42),
    ("number('42')", 42),
    ("number('-4.50e1')", -45.0),
    ("number(1.5)", 1.5),
    ("string(6 / 2)", "3"),
    ("string(0.1)", "0.1"),
    ("string(true) + string(null) + string('x')", "truenullx"),
    ("keys({'b': 1, 'a': 2})", ["a", "b"]),
    ("coalesce(missing, null, 0, 1)", 0),
    ("default(missing, 'x')", "x"),
    ("coalesce(missing)", None),
    ("coalesce(1, 1 / 0)", 1),
    ("duration('PT1H30M')", 5400),
    ("duration('P1DT0.5S')", 86400.5),
    ("timestamp('1970-01-02')", 86400),
    ("timestamp('2030-01-31T08:00:00+02:00') == timestamp('2030-01-31T06:00:00Z')", True),
    ("moment(timestamp('2030-01-31T08:00:00Z') - duration('P1W'))", "2030-01-24T08:00:00.000Z"),
    ("moment(0.5)", "1970-01-01T00:00:00.500Z"),
]

FAILURES = [
    ("len(1)", "a number has no length"),
    ("len(missing)", "null has no length"),
    ("lower(1)", "lower is not defined for a number"),
    ("starts_with('a', 1)", "starts_with is not defined for a number"),
    ("ends_with(null, 'a')", "ends_with is not defined for null"),
    ("min(1)", "min is not defined for a number"),
    ("min(1, 'a')", "min takes only numbers or only strings"),
    ("max([true])", "max takes only numbers"),
    ("max([[1]])", "max takes only numbers"),
    ("sum('abc')", "sum is not defined for text"),
    ("sum([1, null])", "sum is not defined for null"),
    ("sum([true])", "sum is not defined for a boolean"),
    ("sum([1e308, 1e308])", "too large"),
    ("abs('a')", "abs is not defined for text"),
    ("round(1, 13)", "round takes 0 to 12 digits"),
    ("round(1, -1)", "round takes 0 to 12 digits"),
    ("round(1, true)", "round takes 0 to 12 digits"),
    ("round(1e19)", "too large"),
    ("int(1e19)", "too large"),
    ("int('1.5')", "int cannot read '1.5'"),
    ("int('9999999999999999999')", "too large"),
    ("int(true)", "int is not defined for a boolean"),
    ("number('')", "number cannot read ''"),
    ("number('nan')", "number cannot read 'nan'"),
    ("number('1_0')", "number cannot read"),
    ("number('٣')", "number cannot read"),
    ("number('1e999')", "too large"),
    ("number([])", "number is not defined for a list"),
    ("string([])", "string is not defined for a list"),
    ("keys([])", "keys is not defined for a list"),
    ("duration('P1M')", "months and years have no fixed length"),
    ("duration('1 hour')", "A duration is written"),
    ("timestamp('soon')", "A time is written"),
    ("timestamp(1)", "timestamp is not defined for a number"),
    ("moment(1e15)", "outside the years 1 to 9999"),
    ("moment(-1000000000000000000)", "outside the years 1 to 9999"),
]


class TestFunctions:
    @pytest.mark.parametrize(("text", "expected"), VALUES)
    def test_it_gives_the_value(self, text: str, expected: Any) -> None:
        assert same(compile_expression(text).evaluate({}), expected)

    @pytest.mark.parametrize(("text", "reason"), FAILURES)
    def test_the_reason_is_given(self, text: str, reason: str) -> None:
        with pytest.raises(ExpressionFailed) as failed:
            compile_expression(text).evaluate({})
        assert reason in failed.value.reason

    def test_every_function_is_tried_above(self) -> None:
        assert {name for name in FUNCTIONS if any(f"{name}(" in text for text, _ in VALUES)} == set(FUNCTIONS)

    def test_rounding_does_not_follow_the_threads_context(self) -> None:
        import decimal

        with decimal.localcontext(decimal.Context(prec=1, rounding=decimal.ROUND_DOWN)):
            assert compile_expression("round(12345.675, 2)").evaluate({}) == 12345.68

    def test_keys_that_are_no_text_are_refused(self) -> None:
        with pytest.raises(ExpressionFailed, match="a key of a map is not text"):
            compile_expression("keys(m)").evaluate({"m": {1: 2, "a": 3}})
