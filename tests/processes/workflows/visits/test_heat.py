import pytest
from django.utils import translation

from processes.workflows.engine.diagram.colours import LONG, OFTEN
from processes.workflows.visits.figures import ElementFigures, Period, RevisionFigures
from processes.workflows.visits.heat import HeatMap, Measure, describe_figures, draw_heat_map, format_length


@pytest.fixture(autouse=True)
def english() -> None:
    translation.activate("en")


def draw(measure: Measure, **elements: ElementFigures) -> HeatMap:
    return draw_heat_map(RevisionFigures(Period.WEEK, None, elements), measure)


def often(entered: int) -> ElementFigures:
    return ElementFigures(entered=entered, stays=entered, mean=0, median=0)


def long(median: float) -> ElementFigures:
    return ElementFigures(entered=3, stays=3, mean=median * 2, median=median)


class TestDrawHeatMap:
    def test_the_most_frequent_is_the_darkest(self) -> None:
        heat = draw(Measure.OFTEN, a=often(100), b=often(50), c=often(1)).marks.heat
        assert [heat[element].style for element in "abc"] == [OFTEN[4], OFTEN[2], OFTEN[0]]
        assert [heat[element].label for element in "abc"] == ["100×", "50×", "1×"]

    def test_lengths_are_told_apart_by_their_order(self) -> None:
        heat = draw(Measure.LONG, a=long(86_400), b=long(3600), c=long(5)).marks.heat
        assert [heat[element].style for element in "abc"] == [LONG[4], LONG[2], LONG[0]]
        assert [heat[element].label for element in "abc"] == ["3× · 1 d", "3× · 1 h", "3× · 5 s"]

    def test_what_is_not_known_has_no_colour(self) -> None:
        heat = draw(Measure.LONG, a=ElementFigures(entered=2, standing=2)).marks.heat["a"]
        assert (heat.style, heat.label, heat.standing) == (None, "2×", "2")

    def test_what_only_stands_there_was_not_entered_zero_times(self) -> None:
        heat = draw(Measure.OFTEN, a=ElementFigures(standing=2)).marks.heat["a"]
        assert (heat.style, heat.label, heat.text) == (None, "", "2 there now")

    def test_the_legend_has_the_classes_that_there_are(self) -> None:
        assert [entry.text for entry in draw(Measure.OFTEN, a=often(3)).legend] == ["1", "2", "3"]
        assert [entry.text for entry in draw(Measure.OFTEN, a=often(100)).legend] == [
            *("1–20", "21–40", "41–60", "61–80", "81–100"),
        ]
        assert [entry.text for entry in draw(Measure.LONG, a=long(64)).legend] == [
            "≤ 1 s",
            "≤ 4 s",
            "≤ 16 s",
            "≤ 1.1 min",
        ]
        assert [entry.text for entry in draw(Measure.LONG, a=long(0)).legend] == ["< 1 s"]
        assert draw(Measure.OFTEN).legend == ()

    @pytest.mark.parametrize("highest", [1, 2, 3, 4, 7, 99, 12_345])
    def test_every_count_is_in_the_class_that_the_legend_says(self, highest: int) -> None:
        elements = {f"e{count}": often(count) for count in {1, 2, highest // 2, highest} if count}
        drawn = draw(Measure.OFTEN, **elements)
        colours = {entry.colour for entry in drawn.legend}
        assert {heat.style.fill for heat in drawn.marks.heat.values() if heat.style} <= colours


class TestDescribeFigures:
    def test_says_all_there_is(self) -> None:
        figures = ElementFigures(entered=1200, stays=2, mean=90, median=60, standing=3)
        assert describe_figures(figures) == "entered 1,200 times, median time 1 min, mean 1.5 min, 3 there now"


class TestFormatLength:
    @pytest.mark.parametrize(
        ("seconds", "text"),
        [(0, "< 1 s"), (1, "1 s"), (2.5, "2.5 s"), (59, "59 s"), (90, "1.5 min"), (7200, "2 h"), (1_000_000, "12 d")],
    )
    def test_is_said_in_the_largest_unit(self, seconds: float, text: str) -> None:
        assert format_length(seconds) == text
