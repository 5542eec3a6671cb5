"""What is malformed or too large is refused, and nothing takes long."""

import time

import pytest

from processes.workflows.engine.feel import FeelError, FeelFailed, parse_expression, parse_unary_tests
from processes.workflows.engine.feel.limits import MAX_POWER
from processes.workflows.engine.feel.temporal import MAX_MONTHS
from tests.processes.workflows.engine.feel.evaluate import evaluate


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 +", "but the expression ends"),
        ("foo(1)", "There is no function “foo”"),
        ('extract("a", "b")', "There is no function “extract”"),
        ("[1..", "but the expression ends"),
        ("{a 1}", ": is expected here"),
        ('@"zz"', "is no date, time or duration"),
        ('"a', "The text is not closed"),
        ("not b", "not b"),
        ("1 2", "not 2"),
        ("substring()", "substring is written"),
        ('function(x) external {java: {class: "A"}}', "other languages"),
        ("#", "means nothing here"),
        ("(" * 60 + "1" + ")" * 60, "nested at most"),
        ("+".join(["1"] * 150), "operators follow one another"),
        ("[" + ",".join(["1"] * 600) + "]", "at most 500 parts"),
        ("1" * 5000, "at most 4,000 characters"),
        ("1" * 40, "at most 34 digits"),
        ("//" * 2000, "but the expression ends"),
        ("-" * 3999 + "1", "operators follow one another"),
        ("a." * 1999 + "a", "operators follow one another"),
        ("not(" * 900, "nested at most"),
        ("{a:" * 900, "nested at most"),
    ],
)
def test_a_malformed_text_says_what_is_wrong(text: str, message: str) -> None:
    with pytest.raises(FeelError) as caught:
        parse_expression(text)
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["<", "not(", "1,", "[1..2", "not(1) 2"])
def test_a_malformed_entry_is_refused(text: str) -> None:
    with pytest.raises(FeelError):
        parse_unary_tests(text)


@pytest.mark.parametrize(
    "text",
    [
        "for i in 1..10000, j in 1..10000 return i",
        "for i in 1..9999, j in 1..9999 return j",
        "count(for a in l, b in l, c in l, d in l return 1)",
        "some a in l, b in l, c in l, d in l satisfies false",
        "distinct values(for a in 1..9000 return a)",
        "for i in 1..1000000000 return i",
        "string join(for i in 1..9000 return s, s)",
        "l[some x in l, y in l satisfies x + y > 1000]",
        "count(for a in 1..700 return count(l[item > 0]))",
        "[[big,big,big,big],[big,big,big,big],[big,big,big,big],[big,big,big,big],[big,big,big,big],[big,big,big]]",
    ],
)
def test_what_would_take_too_long_fails_soon(text: str) -> None:
    began = time.process_time()
    with pytest.raises(FeelFailed):
        evaluate(text, l=list(range(200)), s="x" * 10_000, big=list(range(9_999)))
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    ("text", "is_null"),
    [
        (f"1 ** {MAX_POWER}", False),
        (f"1 ** {MAX_POWER + 1}", True),
        (f'duration("P{MAX_MONTHS}M")', False),
        (f'duration("P{MAX_MONTHS + 1}M")', True),
        (f'duration("P{MAX_MONTHS}M") + duration("P1M")', True),
    ],
)
def test_what_is_one_too_large_is_null(text: str, is_null: bool) -> None:
    assert (evaluate(text) is None) == is_null
