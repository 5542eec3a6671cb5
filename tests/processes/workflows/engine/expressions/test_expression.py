import copy
import dataclasses
import pickle
from collections import ChainMap
from types import MappingProxyType
from typing import Any

import pytest

from processes.workflows.engine.expressions import ExpressionError, ExpressionFailed, compile_expression


class TestExpression:
    def test_it_keeps_its_text_and_cannot_be_changed(self) -> None:
        expression = compile_expression("${ a }")
        assert expression.text == "${ a }"
        with pytest.raises(dataclasses.FrozenInstanceError):
            expression.text = "b"  # type: ignore[misc]

    def test_two_of_the_same_text_are_one(self) -> None:
        assert {compile_expression("a + 1"), compile_expression("a + 1")} == {compile_expression("a + 1")}
        assert compile_expression("a + 1") != compile_expression("a + 2")

    def test_it_names_the_variables_it_reads_and_nothing_else(self) -> None:
        expression = compile_expression("len(a.b[c]) > d ? 'e' : {'f': [g], 'h': true}.h and len")
        assert expression.names == {"a", "c", "d", "g", "len"}

    @pytest.mark.parametrize("copied", [copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
    def test_it_can_be_copied(self, copied: Any) -> None:
        expression = copied(compile_expression("a * 2"))
        assert (expression.text, expression.names, expression.evaluate({"a": 4})) == ("a * 2", {"a"}, 8)

    @pytest.mark.parametrize("names", [{"a": 1}, ChainMap({}, {"a": 1}), MappingProxyType({"a": 1})])
    def test_any_mapping_will_do(self, names: Any) -> None:
        assert compile_expression("a").evaluate(names) == 1

    def test_each_evaluation_makes_its_lists_and_maps_anew(self) -> None:
        expression = compile_expression("[{'a': []}]")
        expression.evaluate({})[0]["a"].append(1)
        assert expression.evaluate({}) == [{"a": []}]

    def test_nothing_it_does_changes_the_names(self) -> None:
        names = {"a": [3, 1], "m": {"z": 1, "b": [2]}}
        before = copy.deepcopy(names)
        compile_expression("[a + [1], min(a), keys(m), m.b + a, {'a': a}, sum(a)]").evaluate(names)
        assert names == before

    def test_each_evaluation_has_its_own_steps(self) -> None:
        expression = compile_expression("sum(a) + sum(a) + sum(a)")
        assert {expression.evaluate({"a": [1] * 10_000}) for _ in range(10)} == {30_000}


class TestFailed:
    def test_the_reason_shows_the_expression_and_what_is_not_set(self) -> None:
        with pytest.raises(ExpressionFailed) as failed:
            compile_expression("amout > 100 and kind").evaluate({"amount": 5, "kind": "x"})
        assert failed.value.reason == (
            "amout > 100 and kind: null and a number cannot be compared by > (not set: amout)"
        )
        assert str(failed.value) == failed.value.reason

    def test_the_reason_of_a_long_one_is_short(self) -> None:
        text = f"'{'a' * 300}' + {' + '.join(f'name_{n}' for n in range(100))}"
        with pytest.raises(ExpressionFailed) as failed:
            compile_expression(text).evaluate({"name_0": 1})
        assert len(failed.value.reason) < 350

    def test_both_errors_can_cross_a_process(self) -> None:
        error = pickle.loads(pickle.dumps(ExpressionError("no", 3)))
        assert (error.message, error.position) == ("no", 3)
        assert pickle.loads(pickle.dumps(ExpressionFailed("no"))).reason == "no"
