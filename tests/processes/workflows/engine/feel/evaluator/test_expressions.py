"""Expressions of FEEL, with what each of them gives."""

from typing import Any

import pytest

from tests.processes.workflows.engine.feel.evaluate import evaluate

LINES = [{"price": 5, "name": "a"}, {"price": 20, "name": "b"}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("0.1 + 0.2", 0.3),
        ("(1 + 2) * 3", 9),
        ("2 ** 3", 8),
        ("-x", -4),
        ("a - -1", None),
        ("1e3", 1000),
        (".5 + .5", 1),
        ("1 / 0", None),
        ("10 / 4", 2.5),
        ('"a" + "b"', "ab"),
        ('1 + "a"', None),
        ("12345678901234567890123456789012 - 12345678901234567890123456789011", 1),
        ("2 ** 5000", None),
        ("1e400", None),
        ("-1e400 * 2", None),
        ("1e300", 1e300),
        ("1e6000 * 1e6000", None),
        ('@"PT1H" * 1e6000', None),
        ('substring("abc", 1e6000)', ""),
        ("[1, 2][1e6000]", None),
        ("count(for i in 1e6000..1e6000 return i)", 1),
    ],
)
def test_counts(text: str, value: Any) -> None:
    assert evaluate(text, x=4) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true and null", None),
        ("false and null", False),
        ("true or null", True),
        ("false or null", None),
        ("not(null)", None),
        ("not(x > 5)", True),
        ("null = null", True),
        ("x = null", False),
        ('1 = "1"', None),
        ("1 = 1.0", True),
        ("true = 1", None),
        ('"b" > "a"', True),
        ('1 < "a"', None),
        ("[1, [2]] = [1, [2]]", True),
        ("{a: 1} = {a: 1}", True),
        ("{a: 1} = {a: 2}", False),
        ("if null then 1 else 2", 2),
        ("if x > 3 then 1 else 2", 1),
        ("x == 4 && true", True),
        ("x between 1 and 4", True),
        ("x in [1..5]", True),
        ("x in (1..4)", False),
        ("x in ]1..4[", False),
        ("x in (1, 2, 4)", True),
        ("x in > 3 and true", True),
        ("x in [1, 4]", True),
        ('"a" instance of string', True),
        ("x instance of string", False),
        ("x instance of number", True),
    ],
)
def test_decides_by_three_values(text: str, value: Any) -> None:
    assert evaluate(text, x=4) is value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("for i in 1..3 return i * i", [1, 4, 9]),
        ("for i in [1, 2], j in [3, 4] return i * j", [3, 4, 6, 8]),
        ("for i in 3..1 return i", [3, 2, 1]),
        ("some i in [1, 2] satisfies i > 1", True),
        ("every i in [1, 2] satisfies i > 1", False),
        ("[1, 2, 3][item > 1]", [2, 3]),
        ("[1, 2, 3][-1]", 3),
        ("[1, 2, 3][4]", None),
        ("lines[price > 10]", [{"price": 20, "name": "b"}]),
        ("lines[price > 10][1].name", "b"),
        ("lines.price", [5, 20]),
        ("sum(lines.price)", 25),
        ("{a: 1, b: a + 1}.b", 2),
        ("a.b.c", None),
        ("[1..3]", "[1..3]"),
        ("[1..3].start", 1),
        ("[]", []),
        ("{}", {}),
    ],
)
def test_works_on_lists_and_contexts(text: str, value: Any) -> None:
    assert evaluate(text, lines=LINES) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('date("2026-01-31") + duration("P1M")', "2026-02-28"),
        ('@"2026-01-31" - @"P1D"', "2026-01-30"),
        ('date and time("2026-01-31T00:00:00Z") - date and time("2026-01-30T00:00:00Z")', "P1D"),
        ('@"PT1H" * 2', "PT2H"),
        ('@"P1Y" / 2', "P6M"),
        ('@"PT3H" / @"PT2H"', 1.5),
        ('time("23:00:00") + @"PT2H"', "01:00:00"),
        ('date("2026-02-30")', None),
        ('date("2026-01-02").year', 2026),
        ('@"2026-01-02T10:11:12Z".hour', 10),
        ('@"P1DT2H".hours', 2),
        ('@"2026-01-01" < @"2026-01-02"', True),
        ('@"2026-01-01" < @"PT1H"', None),
        ('@"2026-01-01T00:00:00" < @"2026-01-01T00:00:00Z"', None),
        ("now()", "2026-01-02T03:04:05Z"),
        ("today()", "2026-01-02"),
        ('day of week(date("2026-11-18"))', "Wednesday"),
        ('week of year(date("2026-01-01"))', 1),
        ('years and months duration(date("2020-01-15"), date("2021-03-14"))', "P1Y1M"),
        ("date(2026, 3, 4)", "2026-03-04"),
        ('date("9999-12-31") + @"P1D"', None),
        ('@"2026-01-01" - @"P999999999DT23H59M59.999999S"', None),
    ],
)
def test_counts_with_time(text: str, value: Any) -> None:
    assert evaluate(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('string length("abc")', 3),
        ('substring("foobar", 3, 3)', "oba"),
        ('substring("foobar", -3)', "bar"),
        ('substring(string: "foobar", start position: 3)', "obar"),
        ('upper case("a")', "A"),
        ('substring before("a-b", "-")', "a"),
        ('substring after("a-b", "-")', "b"),
        ('contains("abc", "b")', True),
        ('starts with("abc", "a")', True),
        ('ends with(5, "a")', None),
        ('split("a;b", ";")', ["a", "b"]),
        ('split("a.b", ".")', None),
        ('string join(["a", "b"], ", ")', "a, b"),
        ('number("1 000,5", " ", ",")', 1000.5),
        ('number("x")', None),
        ("string(1.50)", "1.5"),
        ("decimal(1 / 3, 2)", 0.33),
        ("round half up(2.5, 0)", 3),
        ("floor(-1.5)", -2),
        ("modulo(-12, 5)", 3),
        ("abs(-3)", 3),
        ("sqrt(9)", 3),
        ("even(4)", True),
        ("count([1, 2])", 2),
        ("sum(1, 2, 3)", 6),
        ('sum(1, "a")', None),
        ("min([3, 1])", 1),
        ('max("a", "b")', "b"),
        ('max(1, "b")', None),
        ("mean([1, 2])", 1.5),
        ("median([3, 1, 2])", 2),
        ("all([true, null])", None),
        ("any([true, null])", True),
        ("list contains([1, 2], 2)", True),
        ("sublist([1, 2, 3], 2)", [2, 3]),
        ("append([1], 2, 3)", [1, 2, 3]),
        ("concatenate([1], [2])", [1, 2]),
        ("insert before([1, 3], 2, 2)", [1, 2, 3]),
        ("remove([1, 2], 1)", [2]),
        ("reverse([1, 2])", [2, 1]),
        ("index of([1, 2, 1], 1)", [1, 3]),
        ("union([1, 2], [2, 3])", [1, 2, 3]),
        ("distinct values([1, 2, 1])", [1, 2]),
        ("flatten([[1, [2]], 3])", [1, 2, 3]),
        ("sort([3, 1, 2])", [1, 2, 3]),
        ('get value({a: 1}, "a")', 1),
        ("get entries({a: 1})", [{"key": "a", "value": 1}]),
        ('context put({a: 1}, "b", 2)', {"a": 1, "b": 2}),
        ("before(1, [2..3])", True),
        ("overlaps([1..3], [3..4])", True),
        ("overlaps([1..3), [3..4])", False),
        ("includes([1..3], 3)", True),
    ],
)
def test_calls_functions(text: str, value: Any) -> None:
    assert evaluate(text) == value


class TestNames:
    def test_may_have_spaces(self) -> None:
        assert evaluate("Monthly Salary * 2", **{"Monthly Salary": 6}) == 12

    def test_with_spaces_find_a_variable_without_them(self) -> None:
        assert evaluate("Monthly Salary * 2", Monthly_Salary=5) == 10

    def test_that_are_not_set_are_null(self) -> None:
        assert evaluate("missing") is None

    def test_of_an_item_come_before_those_around_it(self) -> None:
        assert evaluate("lines[price = 20].name", lines=LINES, price=1, name="z") == ["b"]


@pytest.mark.parametrize("text", ["x // why", "/* a */ x /* b */", "x //", "x\n// below"])
def test_comments_are_skipped(text: str) -> None:
    assert evaluate(text, x=4) == 4


@pytest.mark.parametrize("text", ["${x}", "#{x}", "= x", " x "])
def test_takes_off_what_other_tools_write_around(text: str) -> None:
    assert evaluate(text, x=4) == 4
