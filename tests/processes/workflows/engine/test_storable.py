import pytest

from config.common.text import is_storable
from processes.workflows.engine.storable import join_pairs


class TestJoinPairs:
    def test_a_pair_becomes_its_character(self) -> None:
        assert join_pairs("a\ud83d\ude00b") == "a😀b"

    @pytest.mark.parametrize("text", ["\x00", "a\ud800", "\udfff", "\ude00\ud83d"])
    def test_nul_and_half_of_a_pair_are_refused(self, text: str) -> None:
        assert join_pairs(text) is None

    def test_refuses_the_characters_that_the_product_refuses(self) -> None:
        characters = [chr(code) for code in range(0x11000)]
        assert [each for each in characters if (join_pairs(each) is None) == is_storable(each)] == []
