"""Patterns match what regular expressions of Python match, in linear time."""

import random
import re
import time

import pytest

from processes.workflows.engine import patterns
from processes.workflows.engine.patterns import MAX_MATCHED, MAX_PATTERN, NotPattern, compile_pattern

PATTERNS = [
    "a",
    "a*",
    "(a|b)+c",
    "[a-c]{2,3}",
    r"^\d{3}-\d{4}$",
    "(ab?)*",
    "[^x]+",
    r"\w+@\w+\.[a-z]{2,}",
    "a{0,2}b",
    "(a|)b",
    "x|y|",
    "(a{2}){2}",
    ".*b",
    r"[\d.]+",
    "(?:ab)+",
    "[]a]+",
    r"\D\S*",
    "(a+b){2,}c?",
]


class TestMatchesWhole:
    @pytest.mark.parametrize("pattern", PATTERNS)
    def test_as_python_does(self, pattern: str) -> None:
        dice, compiled = random.Random(pattern), compile_pattern(pattern)
        for _ in range(300):
            text = "".join(dice.choice("abcxy-012@.]") for _ in range(dice.randint(0, 9)))
            assert compiled.matches_whole(text) is bool(re.fullmatch(pattern, text, re.ASCII)), text

    @pytest.mark.parametrize("pattern", ["(a*)*b", "(a|a)*b", "(a?){100}b"])
    def test_what_takes_others_for_ever_ends(self, pattern: str) -> None:
        begin = time.process_time()
        assert not compile_pattern(pattern).matches_whole("a" * MAX_MATCHED)
        assert time.process_time() - begin < 2

    def test_a_longer_text_does_not_match(self) -> None:
        assert compile_pattern("a*").matches_whole("a" * MAX_MATCHED)
        assert not compile_pattern("a*").matches_whole("a" * (MAX_MATCHED + 1))


class TestCompilePattern:
    @pytest.mark.parametrize(
        "text",
        ["(", "a**", "a+?", "(?=a)", r"\1", "[a", "a{5,2}", "{3}", "a{99999}", r"\p{L}", "a)", "a{0}", "a^"],
    )
    def test_refuses_what_is_none(self, text: str) -> None:
        with pytest.raises(NotPattern):
            compile_pattern(text)

    @pytest.mark.parametrize("text", ["a" * (MAX_PATTERN + 1), "(" * 60 + ")" * 60, "((a{90}){90}){90}"])
    def test_refuses_what_is_too_large(self, text: str) -> None:
        with pytest.raises(NotPattern, match="at most"):
            compile_pattern(text)

    def test_so_many_characters_are_taken_and_not_one_more(self) -> None:
        assert compile_pattern("[a]" * 100 + "[" + "a" * 198 + "]").matches_whole("a" * 101)
        with pytest.raises(NotPattern, match="at most 500 characters"):
            compile_pattern("a" * (MAX_PATTERN + 1))

    def test_so_many_states_are_taken_and_not_one_more(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(patterns, "MAX_STATES", 24)
        compile_pattern("a{6}")
        with pytest.raises(NotPattern, match="at most 24 states"):
            compile_pattern("a{7}")
        with pytest.raises(NotPattern, match="at most 24 times"):
            compile_pattern("a{25}")
