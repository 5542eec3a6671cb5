import pytest
from django.utils.translation import override

from processes.coordination.protocol.reasons import (
    LONGEST,
    decode_reason,
    encode_reason,
    format_reason,
    format_reason_in_english,
)
from processes.coordination.reader.apply import NO_ROW, STILL_USED


class TestSay:
    def test_says_it_in_the_language_of_the_reader(self) -> None:
        reason = encode_reason(NO_ROW, entity="DummyItem", id=7)
        assert format_reason(reason) == "DummyItem 7 does not exist"
        with override("ru"):
            assert format_reason(reason).startswith("DummyItem 7 ")
            assert "does not exist" not in format_reason(reason)
            assert format_reason_in_english(reason) == "DummyItem 7 does not exist"

    def test_a_reason_may_stand_within_another(self) -> None:
        within = encode_reason(NO_ROW, entity="DummyItem", id=7)
        reason = encode_reason("%(reader)s: %(reason)s", reader="main", reason=decode_reason(within))
        assert format_reason(reason) == "main: DummyItem 7 does not exist"
        with override("ru"):
            assert format_reason(reason) == f"main: {format_reason(within)}"

    @pytest.mark.parametrize(
        "words", ["", "no", "100 %(s)s", "UNIQUE constraint failed: a.b", '{"text":', '{"text":1}']
    )
    def test_words_that_are_not_ours_stay_as_they_are(self, words: str) -> None:
        assert (decode_reason(words), format_reason(words)) == (words, words)


class TestWrite:
    def test_one_too_long_for_its_column_is_kept_in_english(self) -> None:
        with override("ru"):
            reason = encode_reason(STILL_USED, entity="DummyNode", id=1, other="x" * LONGEST)
        assert len(reason) == LONGEST
        assert reason.startswith("DummyNode 1 is still referenced by xxx")
