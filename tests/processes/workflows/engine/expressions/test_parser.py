"""What is no expression, where it goes wrong, and the limits."""

from typing import Any

import pytest

from processes.workflows.engine.expressions import ExpressionError, ExpressionFailed, compile_expression
from processes.workflows.engine.expressions.limits import MAX_INTEGER, MAX_ITEMS, MAX_STEPS, MAX_STRING, Meter

REFUSED = [
    ("", 0, "A value is expected here, but the expression ends."),
    ("   ", 0, "A value is expected"),
    ("${}", 2, "A value is expected"),
    ("=", 1, "A value is expected"),
    ("a b", 2, "An operator is expected here, not b."),
    ("a = b", 2, "compared by =="),
    ("=a = b", 3, "compared by =="),
    ("a === b", 4, "compared by =="),
    ("1 < x < 5", 6, "Two values are compared at a time"),
    ("a == b == c", 7, "Two values are compared at a time"),
    ("a in b in c", 7, "Two values are compared at a time"),
    ("a == b not in c", 7, "Two values are compared at a time"),
    ("a not b", 6, "in is expected here, not b."),
    ("a == not b", 5, "Put not in brackets"),
    ("a if b", 6, "else is expected here"),
    ("a ? b", 5, ": is expected here"),
    ("(a", 2, ") is expected here"),
    ("a)", 1, "An operator is expected here, not )."),
    ("[1, 2", 5, ", is expected here"),
    ("[1,]", 3, "here, not ]."),
    ("[,1]", 1, "A value is expected here, not ,."),
    ("{1: 2}", 1, "A key of a map is a text."),
    ("{a: 2}", 1, "A key of a map is a text."),
    ("{'a' 2}", 5, ": is expected here"),
    ("{'a': 1 'b': 2}", 8, ", is expected here"),
    ("a.", 2, "the expression ends"),
    ("a.1", 2, "A name follows the dot."),
    ("a.'b'", 2, "A name follows the dot."),
    ("a[", 2, "the expression ends"),
    ("a[]", 2, "A value is expected here, not ]."),
    ("a[0:1]", 3, "] is expected here, not :."),
    ("'open", 0, "The text is not closed."),
    ('"a\\"', 0, "The text is not closed."),
    (r"'a\x41'", 2, "is not an escape"),
    (r"'\u00'", 1, "is not an escape"),
    (r"'\u0000'", 0, "cannot hold NUL"),
    (r"'\ud800'", 0, "half of a surrogate pair"),
    (r"'\ude00\ud83d'", 0, "half of a surrogate pair"),
    ("007", 1, "An operator is expected"),
    (".5", 0, "A value is expected"),
    ("5.", 2, "the expression ends"),
    ("1e999", 0, "The number is too large."),
    ("1000000000000000001", 0, "The number is too large."),
    ("9" * 400, 0, "The number is too large."),
    ("2 ** 3", 3, "here, not *."),
    ("a // b", 3, "here, not /."),
    ("a & b", 2, "means nothing here"),
    ("a; b", 1, "means nothing here"),
    ("a\\b", 1, "means nothing here"),
    ("@a", 0, "means nothing here"),
    ("`a`", 0, "means nothing here"),
    ("“a”", 0, "is not a name"),
    ("a№", 0, "is not a name"),
    ("+1", 0, "A value is expected here, not +."),
    ("lambda: 1", 6, "An operator is expected here, not :."),
    ("[x for x in y]", 3, ", is expected here, not for."),
    ("f'{a}'", 1, "An operator is expected here"),
    ("eval('1')", 0, "There is no function eval"),
    ("matches(a, 'b')", 0, "There is no function matches"),
    ("a.upper()", 7, "Only the functions of the language can be called."),
    ("(len)('a')", 5, "Only the functions of the language can be called."),
    ("len(a)(b)", 6, "Only the functions of the language can be called."),
    ("len()", 0, "len is written len(x)."),
    ("len(a, b)", 0, "len is written len(x)."),
    ("coalesce()", 0, "coalesce is written"),
    ("${a} and ${b}", 9, "${…} stands around a whole expression."),
    ("a\x00b", 1, "cannot hold the character '\\x00'"),
    ("'\x1f'", 1, "cannot hold the character"),
    ("'\ud800'", 1, "cannot hold the character '\\ud800'"),
]


class TestCompileExpression:
    @pytest.mark.parametrize(("text", "position", "message"), REFUSED)
    def test_the_error_names_the_place(self, text: str, position: int, message: str) -> None:
        with pytest.raises(ExpressionError) as refused:
            compile_expression(text)
        assert message in refused.value.message
        assert refused.value.position == position
        assert str(refused.value).endswith(f"(character {position + 1})")


def nested(depth: int) -> dict[str, str]:
    """Write every kind of nesting that deep."""
    return {
        "brackets": "(" * depth + "1" + ")" * depth,
        "lists": "[" * (depth - 1) + "1" + "]" * (depth - 1),
        "maps": '{"a":' * (depth - 1) + "1" + "}" * (depth - 1),
        "signs": "-" * (depth - 1) + "1",
        "exclamation marks": "!" * (depth - 1) + "1",
        "nots": "not " * (depth - 1) + "1",
        "calls": "abs(" * (depth - 1) + "1" + ")" * (depth - 1),
        "keys": "a[" * (depth - 1) + "1" + "]" * (depth - 1),
        "choices": "1?2:" * (depth - 1) + "3",
        "conditionals": "1 if 0 else " * (depth - 1) + "3",
        "lists that are left open": "[" * depth,
        "brackets that are left open": "(" * depth,
        "right operands": "1-(" * ((depth - 1) // 2) + "1" + ")" * ((depth - 1) // 2),
    }


class TestDepth:
    @pytest.mark.parametrize("kind", [kind for kind in nested(1) if not kind.endswith("open")])
    def test_fifty_levels_are_accepted(self, kind: str) -> None:
        assert compile_expression(nested(50)[kind])

    @pytest.mark.parametrize("kind", nested(1))
    @pytest.mark.parametrize("depth", [120, 150])
    def test_many_more_are_refused(self, kind: str, depth: int) -> None:
        with pytest.raises(ExpressionError, match="at most 50 deep"):
            compile_expression(nested(depth)[kind])

    @pytest.mark.parametrize("kind", [kind for kind in nested(1) if kind != "right operands"])
    def test_one_more_is_refused(self, kind: str) -> None:
        with pytest.raises(ExpressionError, match="at most 50 deep"):
            compile_expression(nested(51)[kind])

    @pytest.mark.parametrize("joint", [" or ", " and ", " + ", " * ", "."])
    def test_a_long_chain_is_not_deep(self, joint: str) -> None:
        assert compile_expression(joint.join(["a"] * 200)).names == {"a"}

    def test_the_deepest_leave_room_on_a_stack_that_is_half_full(self) -> None:
        def deeper(levels: int) -> None:
            if levels:
                return deeper(levels - 1)
            for text in nested(50).values():
                if text[-1] not in "([":
                    assert compile_expression(f" {text}")
            return None

        deeper(500)


class TestSize:
    def test_two_thousand_characters_are_accepted(self) -> None:
        assert len(compile_expression(f"'{'a' * 1998}'").evaluate({})) == 1998

    def test_one_more_is_refused(self) -> None:
        with pytest.raises(ExpressionError, match="at most 2,000 characters"):
            compile_expression(f"'{'a' * 1999}'")

    def test_five_hundred_parts_are_accepted(self) -> None:
        assert len(compile_expression(f"[{','.join('1' * 499)}]").evaluate({})) == 499

    @pytest.mark.parametrize("joint", [",", "+", "."])
    def test_one_more_part_is_refused(self, joint: str) -> None:
        with pytest.raises(ExpressionError, match="at most 500 parts"):
            compile_expression(f"[{joint.join('a' * 501)}]")


class TestWork:
    """What one evaluation may work on."""

    @pytest.mark.parametrize(
        ("almost", "one", "two", "refusal"),
        [
            ("x" * (MAX_STRING - 1), "x", "xx", "100,000 characters"),
            ([1] * (MAX_ITEMS - 1), [1], [1, 1], "10,000 items"),
            (MAX_INTEGER - 1, 1, 2, "too large"),
        ],
        ids=["text", "list", "number"],
    )
    def test_takes_the_limit_and_not_one_more(self, almost: Any, one: Any, two: Any, refusal: str) -> None:
        sum_of = compile_expression("a + b")
        assert sum_of.evaluate({"a": almost, "b": one}) == almost + one
        with pytest.raises(ExpressionFailed, match=refusal):
            sum_of.evaluate({"a": almost, "b": two})

    def test_ends_after_so_many_steps(self) -> None:
        meter = Meter()
        for _ in range(MAX_STEPS):
            meter.spend_items(1)
        with pytest.raises(ExpressionFailed, match="10,000 steps"):
            meter.spend_items(1)
