"""Lines that fit in their box."""

import pytest

from processes.workflows.engine.diagram.labels import fit_text, measure_width, wrap_text


class TestWrapText:
    @pytest.mark.parametrize(
        "text", ["One after the other", "Неотложное подтверждение", "漢字漢字漢字漢字漢字", "x" * 90]
    )
    def test_no_line_is_wider_than_the_box_and_no_letter_is_lost(self, text: str) -> None:
        lines = wrap_text(text, 60, 12)
        assert all(measure_width(line, 12) <= 60 for line in lines)
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")

    def test_a_box_narrower_than_a_letter_takes_one_a_line(self) -> None:
        assert wrap_text("abc", 1, 12) == ("a", "b", "c")

    def test_lines_of_the_text_stay_apart(self) -> None:
        assert wrap_text("a\nb", 100, 12) == ("a", "b")


class TestFitText:
    def test_letters_become_smaller_before_text_is_left_out(self) -> None:
        assert fit_text("one two three four", 60, 60).size == 12
        assert fit_text("one two three four", 60, 27).size < 12

    def test_what_does_not_fit_ends_in_an_ellipsis(self) -> None:
        block = fit_text("one two three four five six seven", 40, 30)
        assert block.lines[-1].endswith("…")
        assert block.height <= 30

    def test_no_text_gives_no_lines(self) -> None:
        assert fit_text("", 40, 30).lines == ()
