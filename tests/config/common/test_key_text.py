import re

import pytest

from config.common.key_text import BEGINNINGS, find_prefix, is_key_of, make_key


class TestMakeKey:
    @pytest.mark.parametrize("kind", BEGINNINGS)
    def test_is_recognised_by_its_beginning(self, kind: str) -> None:
        made = make_key(kind)
        assert re.fullmatch(rf"{BEGINNINGS[kind]}_[a-z0-9]{{8}}_[A-Za-z0-9_-]{{43}}", made.text)
        assert (find_prefix(made.text), is_key_of(made.text, made.digest)) == (made.prefix, True)

    def test_is_never_the_same(self) -> None:
        assert len({make_key("service").text for _ in range(100)}) == 100

    def test_does_not_show_its_text(self) -> None:
        made = make_key("service")
        assert made.text not in repr(made)


class TestFindPrefix:
    @pytest.mark.parametrize("text", ["", "ps_abcdefgh", "px_abcdefgh_" + "A" * 43, "ps_abcdefgh_" + "A" * 44])
    def test_what_cannot_be_a_key_has_none(self, text: str) -> None:
        assert find_prefix(text) is None


class TestIsKeyOf:
    def test_another_key_does_not_fit(self) -> None:
        made = make_key("service")
        other = made.text[:-1] + ("A" if made.text[-1] != "A" else "B")
        assert not is_key_of(other, made.digest)
