import json
import operator
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from processes.workflows.engine.expressions import ExpressionError, ExpressionFailed, compile_expression
from tests.processes.workflows.engine.expressions.random_expressions import TOKENS, random_expression

INTEGERS = st.integers(-(10**18), 10**18)
NUMBERS = INTEGERS | st.floats(allow_nan=False, allow_infinity=False)
# What a database can store as text.
TEXTS = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=20)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)
ANYTHING = st.text(max_size=60) | st.lists(st.sampled_from(TOKENS), max_size=25).map(" ".join)
GRAMMATICAL = st.integers(0, 2**32).map(lambda seed: random_expression(Random(seed)))
# A busy machine is no failure: how long an expression may take is measured elsewhere, in time of the processor.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def outcome_of(text: str, names: dict[str, Any]) -> object:
    try:
        return ("value", repr(compile_expression(text).evaluate(names)))
    except (ExpressionError, ExpressionFailed) as error:
        return (type(error), error.args)


class TestAnyText:
    @pytest.mark.slow
    @given(ANYTHING | GRAMMATICAL, st.dictionaries(st.sampled_from("abcde"), JSON))
    @settings(unhurried, max_examples=300)
    def test_it_gives_a_value_or_one_of_two_errors_and_always_the_same(self, text: str, names: dict[str, Any]) -> None:
        assert outcome_of(text, names) == outcome_of(text, names)

    @given(ANYTHING | GRAMMATICAL)
    @unhurried
    def test_a_wrapper_changes_nothing(self, text: str) -> None:
        assume(len(text) < 1_990 and not text.lstrip().startswith(("=", "${", "#{")))
        plain, wrapped = outcome_of(text, {}), outcome_of(f"${{{text}}}", {})
        assert plain == wrapped if plain[0] == "value" else plain[0] is wrapped[0]  # type: ignore[index]


class TestLiterals:
    @given(JSON, st.booleans())
    @unhurried
    def test_what_json_writes_is_read_as_it_was(self, value: Any, is_ascii: bool) -> None:
        text = json.dumps(value, ensure_ascii=is_ascii)
        assume(len(text) <= 2_000)
        assert repr(compile_expression(text).evaluate({})) == repr(value)

    @given(JSON)
    @unhurried
    def test_a_variable_is_given_as_it_is(self, value: Any) -> None:
        assert compile_expression("v").evaluate({"v": value}) is value

    @given(TEXTS)
    @unhurried
    def test_any_text_can_be_a_key(self, key: str) -> None:
        assert compile_expression(f"m[{json.dumps(key)}]").evaluate({"m": {key: 1}}) == 1


class TestOperators:
    PYTHON = {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "%": operator.mod,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "==": operator.eq,
        "!=": operator.ne,
    }

    @given(NUMBERS, st.sampled_from(list(PYTHON)), NUMBERS)
    @unhurried
    def test_numbers_count_as_in_python_or_fail(self, left: float, symbol: str, right: float) -> None:
        expression = compile_expression(f"a {symbol} b")
        try:
            value = expression.evaluate({"a": left, "b": right})
        except ExpressionFailed:
            assert right == 0 or not abs(self.PYTHON[symbol](left, right)) <= 10**18
        else:
            assert value == self.PYTHON[symbol](left, right)

    @given(INTEGERS, INTEGERS.filter(bool))
    @unhurried
    def test_division_gives_back_what_was_multiplied(self, one: int, other: int) -> None:
        assume(abs(one * other) <= 10**18)
        assert compile_expression("a * b / b").evaluate({"a": one, "b": other}) == one

    @given(JSON, JSON)
    @unhurried
    def test_equality_is_that_of_the_json_text(self, one: Any, other: Any) -> None:
        names = {"a": one, "b": other, "c": json.loads(json.dumps(one))}
        assert compile_expression("a == c and not (a != c) and a in [b, c]").evaluate(names) is True
        assert compile_expression("a == b").evaluate(names) is (typed(one) == typed(other))

    @given(JSON, JSON)
    @unhurried
    def test_logic_is_pythons_made_boolean(self, one: Any, other: Any) -> None:
        value = compile_expression("[a and b, a or b, not a, a ? 1 : 2]").evaluate({"a": one, "b": other})
        assert value == [bool(one and other), bool(one or other), not one, 1 if one else 2]

    @pytest.mark.parametrize("text", ["1 + 2 * 3 - 4 % 3", "2 * 3 + 4 == 10 and not 1 > 2 or 5 < 3", "-2 * 3 - -4"])
    def test_operators_bind_as_in_python(self, text: str) -> None:
        assert compile_expression(text).evaluate({}) == eval(text)


def typed(value: Any) -> Any:
    """Mark booleans, which Python takes for numbers."""
    if isinstance(value, list):
        return [typed(each) for each in value]
    if isinstance(value, dict):
        return {key: typed(each) for key, each in value.items()}
    return ("boolean", value) if isinstance(value, bool) else value
