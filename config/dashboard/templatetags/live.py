"""Template filters of the live page: counts that have a limit, bars, the words of a status."""

from collections.abc import Sequence

from django import template
from django.utils.formats import number_format

from config.dashboard.live.counts import MOST_COUNTED

register = template.Library()


@register.filter
def counted(value: int | str | None, most: int = 0) -> str:
    """Return a count as people read it: a dash while it is not known, a plus at the limit that it was counted to."""
    if not isinstance(value, int):
        return "–"
    text = number_format(value, force_grouping=True)
    return f"{text}+" if most and value >= most else text


@register.filter
def bounded(value: int | None) -> str:
    """Return a count that ends at `MOST_COUNTED`."""
    return counted(value, MOST_COUNTED)


@register.filter
def bars(values: Sequence[int] | None, count: int) -> list[int]:
    """Return so many heights in per cent of the greatest value, the newest last."""
    shown = [0] * (count - len(values or ())) + list(values or ())
    greatest = max(shown, default=0)
    return [0 if not greatest else max(2 if value else 0, round(100 * value / greatest)) for value in shown]


@register.filter
def greatest(values: Sequence[int] | None) -> int:
    return max(values or (), default=0)


@register.filter
def say(value: str, section: str) -> str:
    """Return the words of a status of this section."""
    # The theme loads every library of filters while it is being loaded itself, and the words come from admin pages.
    from config.dashboard.live.words import words_by_section

    return words_by_section()[section].get(value, value)
