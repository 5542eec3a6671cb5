import pytest

from config.common.text import clean_error, clean_text, clean_values, cut_bytes, is_storable

HALF = "\ud83d"


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class TestCleanText:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("as it is: ж, 🚪", "as it is: ж, 🚪"),
            ("a\0b", "a\ufffdb"),
            (f"a{HALF}b", "a\ufffdb"),
            (b"550 \x00 \xff", "550 \ufffd \ufffd"),
            (bytearray(b"ab"), "ab"),
            (59009, "59009"),
            (None, ""),
        ],
    )
    def test_is_a_text_that_every_engine_keeps(self, value: object, expected: str) -> None:
        assert clean_text(value) == expected

    def test_counts_characters_of_a_text_and_bytes_of_bytes(self) -> None:
        assert clean_text("жжжж", 3) == "жжж"
        assert clean_text("жжжж".encode(), 3) == "ж\ufffd"

    def test_words_of_errors(self) -> None:
        assert clean_error(ValueError("a\0b"), 300) == "ValueError: a\ufffdb"
        assert clean_error(ValueError("x" * 400), 300) == "ValueError: " + "x" * 288
        assert clean_error(TimeoutError(), 300) == "TimeoutError"
        assert clean_error(Mute(), 300) == "Mute"


class TestCleanValues:
    def test_cleans_names_and_values_at_any_depth(self) -> None:
        value = {"a\0": [1, None, {"b": f"{HALF}"}], "c": ("\0",)}

        assert clean_values(value) == {"a\ufffd": [1, None, {"b": "\ufffd"}], "c": ["\ufffd"]}
        assert is_storable(clean_values(value))
        assert not is_storable(value)


class TestIsStorable:
    @pytest.mark.parametrize("value", ["\\u0000", {"a": ["b", 1, True, None]}, 5, None])
    def test_knows_the_escape_from_the_character(self, value: object) -> None:
        assert is_storable(value)

    @pytest.mark.parametrize("value", ["\0", HALF, {"a\0": 1}, [[{"a": "\0"}]]])
    def test_finds_what_cannot_be_kept(self, value: object) -> None:
        assert not is_storable(value)


def test_bytes_are_cut_between_characters() -> None:
    assert cut_bytes("жжж", 5) == "жж"
    assert cut_bytes("abc", 5) == "abc"
