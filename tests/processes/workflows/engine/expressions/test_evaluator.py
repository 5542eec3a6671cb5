"""What each part of the language means."""

from types import SimpleNamespace
from typing import Any

import pytest

from processes.workflows.engine.expressions import ExpressionFailed, compile_expression

NAMES: dict[str, Any] = {
    "amount": 250,
    "rate": 0.5,
    "kind": "x",
    "approved": True,
    "nothing": None,
    "сумма": 7,
    "नाम": "हिन्दी",
    "order": {"id": "A-1", "lines": [{"price": 3}, {"price": 4}], "in": "word", "a b": 1, "__class__": "data"},
    "tags": ["a", "b", 1, None, [2], {"k": 3}],
    "text": "Order 17",
}


def value_of(text: str, **names: Any) -> Any:
    return compile_expression(text).evaluate({**NAMES, **names})


def same(one: Any, other: Any) -> bool:
    """Equal and of one type: 1 is neither 1.0 nor True here."""
    return type(one) is type(other) and one == other


VALUES = [
    # wrappers
    ("${amount}", 250),
    ("#{amount > 1}", True),
    ("=amount", 250),
    ("  = amount ", 250),
    ("  ${ {'a': 1}.a }\n", 1),
    # literals
    ("12", 12),
    ("0", 0),
    ("1.50", 1.5),
    ("2e3", 2000.0),
    ("'it\\'s'", "it's"),
    ('"a\\n\\t\\\\\\/\\u0041\\ud83d\\ude00"', "a\n\t\\/A😀"),
    ("'two\nlines'", "two\nlines"),
    ("[true, false, null, True, False, None]", [True, False, None, True, False, None]),
    ("[]", []),
    ("{}", {}),
    ("{'a': [1, {\"b\": amount}], 'a': 2}", {"a": 2}),
    # names
    ("сумма * 2", 14),
    ("नाम", "हिन्दी"),
    ("missing", None),
    ("len", None),
    # looking up
    ("order.id", "A-1"),
    ('order["a b"]', 1),
    ("order.in", "word"),
    ("order.lines[1].price", 4),
    ("order.lines[-1].price", 4),
    ("order.lines[2]", None),
    ("order.lines[-3]", None),
    ("order.other", None),
    ("missing.a.b[0].c", None),
    ("order.__class__", "data"),
    ("order.lines[0].__class__", None),
    ("order['i' + 'd']", "A-1"),
    ("[1, 2][1]", 2),
    # arithmetic
    ("1 + 2 * 3 - 4", 3),
    ("(1 + 2) * 3", 9),
    ("10 - 3 - 2", 5),
    ("2 * 3 % 4", 2),
    ("-amount", -250),
    ("--3", 3),
    ("2 - -3", 5),
    ("-2 * -2", 4),
    ("7 / 2", 3.5),
    ("6 / 2", 3),
    ("999999999999999999 / 3", 333333333333333333),
    ("6 / 2.0", 3.0),
    ("7 % 4", 3),
    ("-7 % 4", 1),
    ("'a' + 'b' + kind", "abx"),
    ("[1] + tags[4] + []", [1, 2]),
    # comparison
    ("amount > 100", True),
    ("amount >= 250.0", True),
    ("amount < 250", False),
    ("'2030-01-01' <= '2030-02-01'", True),
    ("1 == 1.0", True),
    ("1 == true", False),
    ("0 == false", False),
    ("0 != null", True),
    ("missing == null", True),
    ("'1' == 1", False),
    ("[1, {'a': [2]}] == [1.0, {'a': [2]}]", True),
    ("[1] == [true]", False),
    ("{'a': 1} == {'b': 1}", False),
    ("[1, 2] != [1]", True),
    ("{} == []", False),
    # in
    ("'a' in tags", True),
    ("true in tags", False),
    ("[2] in tags", True),
    ("{'k': 3} in tags", True),
    ("'z' not in tags", True),
    ("'id' in order", True),
    ("'17' in text", True),
    ("'x' not in text", True),
    ("not 'a' in tags", False),
    # logic
    ("amount > 100 and kind == 'x'", True),
    ("amount > 100 && kind != 'x'", False),
    ("false or kind", True),
    ("false || 0 || ''", False),
    ("not missing", True),
    ("not not 5", True),
    ("!approved", False),
    ("!!kind", True),
    ("!amount == 250", False),
    ("not amount == 250", False),
    ("not amount == 251", True),
    ("true or false and false", True),
    ("1 == 1 or 1 / 0 == 1", True),
    ("false and 1 / 0", False),
    ("approved and not nothing", True),
    # choice
    ("'big' if amount > 100 else 'small'", "big"),
    ("amount > 300 ? 'big' : amount > 200 ? 'middle' : 'small'", "middle"),
    ("1 if false else 2 if false else 3", 3),
    ("{'a': true ? 1 : 2}", {"a": 1}),
    ("1 / 0 if false else 'safe'", "safe"),
    ("(true ? 1 : 2) + 1", 2),
]


class TestEvaluate:
    @pytest.mark.parametrize(("text", "expected"), VALUES)
    def test_it_gives_the_value(self, text: str, expected: Any) -> None:
        assert same(value_of(text), expected)

    @pytest.mark.parametrize("empty", ["null", "false", "0", "0.0", "''", "[]", "{}"])
    def test_what_is_empty_is_false(self, empty: str) -> None:
        assert value_of(f"[{empty} ? 1 : 2, not {empty}, {empty} or false]") == [2, True, False]

    @pytest.mark.parametrize("full", ["true", "1", "-1", "0.1", "' '", "'false'", "[0]", "{'a': null}"])
    def test_what_is_not_empty_is_true(self, full: str) -> None:
        assert value_of(f"[{full} ? 1 : 2, not {full}, {full} and true]") == [1, False, True]


FAILURES = [
    ("amount < 'a'", "a number and text cannot be compared by <"),
    ("nothing < 1", "null and a number cannot be compared by <"),
    ("true > false", "a boolean and a boolean cannot be compared by >"),
    ("[1] <= [2]", "a list and a list cannot be compared by <="),
    ("true + 1", "+ is not defined for a boolean and a number"),
    ("nothing + 1", "+ is not defined for null and a number"),
    ("text + 17", "use string(…)"),
    ("17 + text", "use string(…)"),
    ("'a' * 3", "* is not defined for text and a number"),
    ("[1] * 3", "* is not defined for a list and a number"),
    ("'%s' % 1", "% is not defined for text and a number"),
    ("-approved", "a boolean has no negative"),
    ("-text", "text has no negative"),
    ("1 / 0", "division by zero"),
    ("1 % 0.0", "division by zero"),
    ("1 / -0.0", "division by zero"),
    ("1e308 * 10", "too large"),
    ("1e308 + 1e308", "too large"),
    ("1e308 / 1e-10", "too large"),
    ("1000000000000000000 + 1", "too large"),
    ("-1000000000000000000 - 1", "too large"),
    ("1000000000 * 1000000001", "too large"),
    ("kind.length", "nothing can be looked up in text"),
    ("kind[0]", "nothing can be looked up in text"),
    ("amount.real", "nothing can be looked up in a number"),
    ("tags.append", "a list has no key that is text"),
    ("tags[true]", "a list has no key that is a boolean"),
    ("order[0]", "a map has no key that is a number"),
    ("1 in 5", "a number cannot be looked for in a number"),
    ("1 in '1'", "a number cannot be looked for in text"),
    ("null in order", "null cannot be looked for in a map"),
    ("'a' in missing", "text cannot be looked for in null"),
]


class TestFailures:
    @pytest.mark.parametrize(("text", "reason"), FAILURES)
    def test_the_reason_is_given(self, text: str, reason: str) -> None:
        with pytest.raises(ExpressionFailed) as failed:
            value_of(text)
        assert reason in failed.value.reason

    @pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), 10**18 + 1, -(10**400)])
    @pytest.mark.parametrize("text", ["x", "x == x", "[x]", "d.x", "l[0]", "not x", "sum(l)", "max(l)", "string(x)"])
    def test_a_number_that_is_none_cannot_be_read(self, text: str, number: float) -> None:
        with pytest.raises(ExpressionFailed, match="too large or undefined"):
            value_of(text, x=number, d={"x": number}, l=[number])

    @pytest.mark.parametrize("text", ["x", "x.secret", "x == x", "d.x", "l[0]", "x in l", "min(l)", "x ? 1 : 2"])
    def test_what_is_no_json_cannot_be_read(self, text: str) -> None:
        thing = SimpleNamespace(secret="s")
        with pytest.raises(ExpressionFailed, match="type SimpleNamespace is not JSON"):
            value_of(text, x=thing, d={"x": thing}, l=[thing])

    def test_two_things_that_are_no_json_are_never_asked_whether_they_are_equal(self) -> None:
        class Nosy:
            def __eq__(self, other: object) -> bool:
                raise AssertionError

        assert value_of("[1] == l", l=[Nosy()]) is False
        assert value_of("m == l", m=[Nosy()], l=[Nosy()]) is False
