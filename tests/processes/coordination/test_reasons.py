import pytest
from django.utils.translation import override

from processes.coordination.reader.applying import NO_ROW, STILL_USED
from processes.coordination.reasons import LONGEST, in_english, read, say, write


class TestSay:
    def test_says_it_in_the_language_of_the_reader(self) -> None:
        reason = write(NO_ROW, entity="DummyItem", id=7)
        assert say(reason) == "DummyItem 7 is not here"
        with override("ru"):
            assert say(reason).startswith("DummyItem 7 ")
            assert "is not here" not in say(reason)
            assert in_english(reason) == "DummyItem 7 is not here"

    def test_a_reason_may_stand_within_another(self) -> None:
        within = write(NO_ROW, entity="DummyItem", id=7)
        reason = write("%(reader)s: %(reason)s", reader="main", reason=read(within))
        assert say(reason) == "main: DummyItem 7 is not here"
        with override("ru"):
            assert say(reason) == f"main: {say(within)}"

    @pytest.mark.parametrize(
        "words", ["", "no", "100 %(s)s", "UNIQUE constraint failed: a.b", '{"text":', '{"text":1}']
    )
    def test_words_that_are_not_ours_stay_as_they_are(self, words: str) -> None:
        assert (read(words), say(words)) == (words, words)


class TestWrite:
    def test_one_too_long_for_its_column_is_kept_in_english(self) -> None:
        with override("ru"):
            reason = write(STILL_USED, entity="DummyNode", id=1, other="x" * LONGEST)
        assert len(reason) == LONGEST
        assert reason.startswith("DummyNode 1 is still referred to by xxx")
