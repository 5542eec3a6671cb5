"""Expressions of other engines: what they become, and that they mean the same."""

from typing import Any

import pytest

from processes.workflows.engine.dialects.languages.expressions import translate_expression, translate_value
from processes.workflows.engine.expressions import compile_expression


def evaluate(expression: str, names: dict[str, Any], *, is_feel: bool = False) -> Any:
    outcome = translate_expression(expression, is_feel=is_feel)
    assert not outcome.is_code, outcome.why
    return compile_expression(outcome.text).evaluate(names)


class TestJuel:
    @pytest.mark.parametrize(
        ("text", "names", "value"),
        [
            ("${a eq 'x'}", {"a": "x"}, True),
            ("${a ne 1 or b lt 2 and c ge 3}", {"a": 1, "b": 1, "c": 3}, True),
            ("${!empty list}", {"list": [1]}, True),
            ("${empty text}", {"text": ""}, True),
            ("${not a}", {"a": False}, True),
            ("${a div 2 + b mod 2}", {"a": 4, "b": 3}, 3),
            ("${a gt b ? 'more' : 'less'}", {"a": 1, "b": 2}, "less"),
            ("${(a == 1) == true}", {"a": 1}, True),
            ("${order.items.size() > 1}", {"order": {"items": [1, 2]}}, True),
            ("${name.equals('x') && list.contains(1)}", {"name": "x", "list": [1]}, True),
            ("${execution.getVariable('a') == 2}", {"a": 2}, True),
            ("${variables:getOrDefault(a, 5)}", {}, 5),
            ("${vars:isNotEmpty(a)}", {"a": "x"}, True),
            ('${json.prop("a").value()}', {"json": {"a": 7}}, 7),
            ("Order ${id} of ${name}", {"id": 5, "name": "A"}, "Order 5 of A"),
            ("#{map['k']}", {"map": {"k": 1}}, 1),
        ],
    )
    def test_means_the_same(self, text: str, names: dict[str, Any], value: Any) -> None:
        assert evaluate(text, names) == value

    @pytest.mark.parametrize(
        "text",
        ["${bean.call()}", "${now()}", "${execution.id}", "${x.toArray(1)}", "${fn:length(a)}", "${a.b(c).d}"],
    )
    def test_a_method_a_bean_or_a_function_is_code(self, text: str) -> None:
        assert translate_expression(text).is_code

    def test_our_own_words_between_the_brackets_stay(self) -> None:
        assert translate_expression("${not a == b}").text == "not a == b"


class TestFeel:
    @pytest.mark.parametrize(
        ("text", "names", "value"),
        [
            ('=a = "x" and not(b)', {"a": "x", "b": False}, True),
            ("=items[1]", {"items": [3, 4]}, 3),
            ("=items[-1]", {"items": [3, 4]}, 4),
            ("=if a > 1 then 2 else 3", {"a": 2}, 2),
            ("=a between 1 and 3", {"a": 3}, True),
            ("=a in (1..3]", {"a": 1}, False),
            ("=a in [1, 2]", {"a": 2}, True),
            ("=count(items) + string length(a)", {"items": [1], "a": "xy"}, 3),
            ('={a: 1, "b c": [x]}', {"x": 2}, {"a": 1, "b c": [2]}),
            ("=is defined(a)", {}, False),
            ("=append(a, 1)", {"a": [0]}, [0, 1]),
            ('=a.b != null or starts with(a.c, "x")', {"a": {"c": "xy"}}, True),
        ],
    )
    def test_means_the_same(self, text: str, names: dict[str, Any], value: Any) -> None:
        assert evaluate(text, names, is_feel=True) == value

    @pytest.mark.parametrize("text", ["=now()", "=for x in a return x", "=items[item > 1]", "=some x in a satisfies x"])
    def test_what_has_no_counterpart_is_asked_for(self, text: str) -> None:
        assert translate_expression(text, is_feel=True).is_code

    def test_lists_begin_at_one_in_files_of_feel_alone(self) -> None:
        assert translate_expression("=items[0]").text == "items[0]"


class TestTranslateValue:
    def test_is_a_text_unless_it_is_marked(self) -> None:
        assert (translate_value("a b").text, translate_value("${a}").text) == ('"a b"', "a")
        assert (translate_value("=a", is_feel=True).text, translate_value("=a").text) == ("a", '"=a"')


class TestBounds:
    @pytest.mark.parametrize("text", ["${" + "(" * 5000 + "}", "=" + "-" * 1900 + "1", "${" + "!" * 1900 + "a}"])
    def test_what_is_deep_is_no_danger(self, text: str) -> None:
        outcome = translate_expression(text)
        assert outcome.is_code or outcome.text == text.strip() or outcome.text == text[1:]
