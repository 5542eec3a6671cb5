"""Entries of decision tables, with values that pass them or not."""

from typing import Any

import pytest

from tests.processes.workflows.engine.feel.evaluate import put_to_tests


@pytest.mark.parametrize(
    ("text", "value", "passes"),
    [
        ("-", 1, True),
        ("", None, True),
        ("< 5", 4, True),
        ("< 5", 5, False),
        ("< 5", None, False),
        ("< 5", "a", False),
        (">= x", 4, True),
        ("[1..5]", 5, True),
        ("[1..5)", 5, False),
        ("]1..5]", 1, False),
        ("[1..5[", 5, False),
        ('"a", "b"', "b", True),
        ('"a", "b"', "c", False),
        ('not("a", "b")', "c", True),
        ('not("a", "b")', "a", False),
        ("not(< 5)", 5, True),
        ("1, 2, > 10", 11, True),
        ("null", None, True),
        ("null", 0, False),
        ("not(null)", None, False),
        ("true", True, True),
        ("true", False, False),
        ("false", False, True),
        ("? > 3 and ? < 5", 4, True),
        ("? > 3 and ? < 5", 5, False),
        ("x", 4, True),
        ("x + 1", 5, True),
        ("[1, 2]", 2, True),
        ("!= 3", 4, True),
        ('starts with(?, "a")', "abc", True),
        ("x = 4", 9, True),
        ("x = 5", 9, False),
        ('date("2026-01-01")', "2026-01-01", False),
    ],
)
def test_unary_tests(text: str, value: Any, *, passes: bool) -> None:
    assert put_to_tests(text, value, x=4) is passes
