import pytest
from django.utils.translation import override

from config.common.known_texts import KnownTexts

KNOWN = KnownTexts(
    ["no connection within %(seconds)s s", "answered %(status)s", "connection lost", "No matches."],
    {"status": lambda status: f"<{status}>"},
)


class TestTranslate:
    @pytest.mark.parametrize(
        ("text", "russian"),
        [
            ("no connection within 5 s", "нет соединения за 5 с"),
            ("answered 500", "ответ <500>"),
            ("answered\n500", "answered\n500"),
            ("connection lost", "связь потеряна"),
            ("something else", "something else"),
            ("", ""),
        ],
    )
    def test_knows_a_text_by_its_template(self, text: str, russian: str) -> None:
        with override("ru"):
            assert KNOWN.translate(text) == russian

    def test_what_an_earlier_version_stored_is_said_as_today(self) -> None:
        known = KnownTexts(["%(type)s has no length"])
        assert known.translate("a number has no len") == "a number has no length"
        with override("ru"):
            assert known.translate("a number has no len") == "у значения нет длины (a number)"

    def test_a_value_may_hold_anything(self) -> None:
        assert KNOWN.translate("answered %(x)s (a|b)\n.") == "answered <%(x)s (a|b)\n.>"

    def test_what_says_more_is_no_value_of_what_says_less(self) -> None:
        known = KnownTexts(["is %(status)s.", "is not %(status)s."], {"status": str.upper})
        assert known.translate("is not open.") == "is not OPEN."


class TestFindStored:
    @pytest.mark.parametrize(
        ("part", "pieces"),
        [
            ("соединения за", {("no connection within",)}),
            ("СОЕДИНЕНИЯ", {("no connection within",)}),
            ("соединения за 5", {("no connection within", "5")}),
            ("потеряна", {("connection lost",)}),
            ("ничего такого", set()),
        ],
    )
    def test_knows_what_is_stored_by_what_is_read(self, part: str, pieces: set[tuple[str, ...]]) -> None:
        with override("ru"):
            assert {words.pieces for words in KNOWN.find_stored(part)} == pieces

    def test_what_is_read_as_it_is_stored_needs_no_other_words(self) -> None:
        assert list(KNOWN.find_stored("connection")) == []

    def test_what_an_earlier_version_stored_is_found_by_what_is_read_today(self) -> None:
        known = KnownTexts(["%(type)s has no length"])
        assert [words.pieces for words in known.find_stored("no length")] == [("has no len",)]
