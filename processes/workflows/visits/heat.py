"""The heat map of a revision: its figures as colours and labels on the drawing, with the legend that explains them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext

from processes.workflows.engine.diagram import Heat, Marks
from processes.workflows.engine.diagram.colours import LONG, OFTEN, ShapeStyle
from processes.workflows.visits.figures import ElementFigures, RevisionFigures

CLASSES = len(OFTEN)
STEP = 4
"""Each class of durations is so many times as long as the one before it: some last seconds, others days."""


class Measure(StrEnum):
    OFTEN = "often"
    LONG = "long"


@dataclass(frozen=True)
class LegendEntry:
    colour: str
    text: str


@dataclass(frozen=True)
class HeatMap:
    marks: Marks
    legend: Sequence[LegendEntry]


def draw_heat_map(figures: RevisionFigures, measure: Measure) -> HeatMap:
    """Return the marks of the drawing, by how often elements were entered or how long stays were, and the legend."""
    elements = figures.elements
    values = {element: value for element, each in elements.items() if (value := _VALUES[measure](each)) is not None}
    bounds = _find_bounds(max(values.values(), default=0), measure)
    ramp = OFTEN if measure is Measure.OFTEN else LONG
    heat = {
        element: Heat(
            style=_find_style(values.get(element), bounds, ramp),
            label=_label(each, measure),
            standing=_shorten(each.standing) if each.standing else "",
            text=describe_figures(each),
        )
        for element, each in elements.items()
    }
    return HeatMap(Marks(heat=heat), _build_legend(bounds, measure, ramp) if values else ())


_VALUES: Mapping[Measure, Callable[[ElementFigures], float | None]] = {
    # Nothing known is no colour: an element that was not entered is not one that was entered zero times.
    Measure.OFTEN: lambda figures: figures.entered or None,
    Measure.LONG: lambda figures: figures.median,
}


def _find_bounds(highest: float, measure: Measure) -> list[float]:
    """Return the highest value of each class."""
    if measure is Measure.OFTEN:
        return [highest * place // CLASSES for place in range(1, CLASSES)] + [highest]
    return [highest / STEP ** (CLASSES - place) for place in range(1, CLASSES + 1)]


def _find_style(value: float | None, bounds: Sequence[float], ramp: Sequence[ShapeStyle]) -> ShapeStyle | None:
    if value is None:
        return None
    return ramp[next(place for place, bound in enumerate(bounds) if value <= bound)]


def _build_legend(bounds: Sequence[float], measure: Measure, ramp: Sequence[ShapeStyle]) -> list[LegendEntry]:
    entries: list[LegendEntry] = []
    below = 0.0
    for bound, style in zip(bounds, ramp, strict=True):
        if measure is Measure.OFTEN:
            first, last = int(below) + 1, int(bound)
            text = _shorten(last) if first == last else f"{_shorten(first)}–{_shorten(last)}"
            is_empty = first > last
        else:
            # Classes that differ by less than what can be written are one.
            text, is_empty = format_length(bound), format_length(bound) == format_length(below) or bound < 1
            text = f"≤ {text}"
        if not is_empty:
            entries.append(LegendEntry(style.fill, text))
            below = bound
    return entries or [LegendEntry(ramp[0].fill, format_length(0))]


def _label(figures: ElementFigures, measure: Measure) -> str:
    """Return the figures in short: how often, and how long unless that is no time at all."""
    parts = [f"{_shorten(figures.entered)}×"] if figures.entered else []
    if figures.median is not None and (figures.median >= 1 or measure is Measure.LONG):
        parts.append(format_length(figures.median))
    return " · ".join(parts)


def describe_figures(figures: ElementFigures) -> str:
    """Return the figures of an element in words."""
    parts = []
    if figures.entered:
        count = number_format(figures.entered, force_grouping=True)
        parts.append(ngettext("entered %(count)s time", "entered %(count)s times", figures.entered) % {"count": count})
    if figures.median is not None and figures.mean is not None:
        lengths = {"median": format_length(figures.median), "mean": format_length(figures.mean)}
        parts.append(gettext("median time %(median)s, mean %(mean)s") % lengths)
    if figures.standing:
        count = number_format(figures.standing, force_grouping=True)
        parts.append(gettext("%(count)s there now") % {"count": count})
    return ", ".join(parts)


def format_length(seconds: float) -> str:
    """Return a length of time in its largest unit, short."""
    if seconds < 1:
        return gettext("< 1 s")
    for size, text in (
        (86_400, gettext("%(number)s d")),
        (3600, gettext("%(number)s h")),
        (60, gettext("%(number)s min")),
    ):
        if seconds >= size:
            return text % {"number": _round(seconds / size)}
    return gettext("%(seconds)s s") % {"seconds": _round(seconds)}


def _round(number: float) -> str:
    """Return a number with two figures at the least."""
    # Rounded first: `number_format` cuts off what it does not show.
    is_small = number < 9.95 and round(number, 1) != round(number)
    return number_format(round(number, 1) if is_small else round(number), 1 if is_small else 0, force_grouping=True)


def _shorten(count: int) -> str:
    """Return a count that fits a label: thousands and millions by their letter."""
    for size, letter in ((1_000_000, gettext("%(number)sM")), (10_000, gettext("%(number)sk"))):
        if count >= size:
            return letter % {"number": _round(count / (1_000_000 if size > 10_000 else 1000))}
    return number_format(count, 0, force_grouping=True)
