"""Functions that are values: written where they are used, passed on, and called by the name that holds them."""

from typing import Any

import pytest

from processes.workflows.engine.feel import FeelError, FeelFailed, parse_expression
from tests.processes.workflows.engine.feel.evaluate import evaluate


class TestFunctions:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("(function(a) a + 1)(2)", 3),
            ("(function(a: number, b: number) a - b)(b: 1, a: 5)", 4),
            ("{double: function(x) x * 2, result: double(4)}.result", 8),
            ("{outer: 10, add: function(x) x + outer, result: add(1)}.result", 11),
            ("for f in [function(x) x + 1, function(x) x * 10] return f(3)", [4, 30]),
            ("(function(a) a)(1, 2)", None),
            ("{f: 5, result: f(1)}.result", None),
            ("(function(x) x) instance of function", True),
            ("function(x) x", None),
        ],
    )
    def test_are_called(self, text: str, expected: Any) -> None:
        assert evaluate(text) == expected

    def test_one_that_is_held_by_no_name_is_not_there(self) -> None:
        with pytest.raises(FeelError, match="no function “f”"):
            parse_expression("f(1)")

    def test_calls_inside_one_another_are_bounded(self) -> None:
        with pytest.raises(FeelFailed, match="would call one another"):
            evaluate("{again: function(f, n) f(f, n + 1), result: again(again, 1)}.result")

    def test_each_call_costs_steps(self) -> None:
        with pytest.raises(FeelFailed, match="steps"):
            evaluate("{f: function(n) n + 1 + 1 + 1 + 1 + 1, r: for i in 1..9000 return f(i)}.r")


class TestSort:
    def test_by_a_function_that_says_which_comes_first(self) -> None:
        people = [{"name": "A", "age": 3}, {"name": "B", "age": 1}, {"name": "C", "age": 3}]
        found = evaluate("sort(people, function(x, y) x.age < y.age).name", people=people)
        assert found == ["B", "A", "C"]

    def test_descending_and_by_name_of_the_parameter(self) -> None:
        assert evaluate("sort(list: [2, 3, 1], precedes: function(x, y) x > y)") == [3, 2, 1]

    @pytest.mark.parametrize(
        "text", ["sort([1, 2], 5)", "sort([1, 2], function(x) x)", "sort(5, function(x, y) x < y)"]
    )
    def test_by_anything_else_is_null(self, text: str) -> None:
        assert evaluate(text) is None


class TestMore:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("list replace([1, 2, 3], 2, 9)", [1, 9, 3]),
            ("list replace([1, 2, 3], function(item, new) item < new, 3)", [3, 3, 3]),
            ("duplicate values([1, 2, 1, 3, 2])", [1, 2]),
            ("partition([1, 2, 3], 2)", [[1, 2], [3]]),
            ("partition([1, 2, 3], 0)", None),
            ("is empty([])", True),
            ("mode([6, 3, 9, 6, 6])", [6]),
            ("mode([])", []),
            ("stddev([2, 4, 7, 5])", 2.0816659994661326),
            ("stddev([1])", None),
            ("is defined(null)", False),
            ("get or else(null, 5)", 5),
            ('range("[1..5]").end', 5),
            ('3 in range("(1..3]")', True),
            ('range("[5..1]")', None),
            ('range("nonsense")', None),
            ('is blank("  ")', True),
            ('matches("foobar", "^fo*b")', True),
            ('matches("foobar", "o+$")', False),
            ('matches("foobar", "(?=x)")', None),
            ('replace("a-b-c", "-", "+")', "a+b+c"),
            ('replace("abc", "[a-z]", "#")', None),
            ('last day of month(date("2024-02-05"))', "2024-02-29"),
            ("[1, 2] instance of list<number>", True),
            ("{a: 1} instance of context<a: number>", True),
        ],
    )
    def test_functions_of_the_standard_and_of_its_engines(self, text: str, expected: Any) -> None:
        assert evaluate(text) == expected
