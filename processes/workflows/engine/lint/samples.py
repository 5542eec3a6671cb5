"""Sample values: one of every kind that comparisons with these literals tell apart.

Between two numbers that follow one another, and beyond the first and the last, all values behave alike: what holds for
the samples holds for all values.
"""

from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

OTHER_TEXT = "…"
"""Stands for every text that is not mentioned."""
MAX_SAMPLES = 2_000


def make_samples(literals: Iterable[Any]) -> list[Any] | None:
    """Return the samples for literals of one kind; None where they are of several, or have no order."""
    values = [value for value in literals if value is not None]
    kinds: set[type] = {
        Decimal if isinstance(value, int | float) and not isinstance(value, bool) else type(value) for value in values
    }
    if len(kinds) != 1 or len(values) > MAX_SAMPLES:
        return None
    (kind,) = kinds
    if kind is bool:
        return [True, False]
    if kind is str:
        return [*dict.fromkeys(values), OTHER_TEXT]
    if kind is Decimal:
        return _spread(sorted(set(values)), Decimal(1))
    if kind in (date, datetime, timedelta):
        is_mixed = kind is datetime and len({value.tzinfo is None for value in values}) > 1
        return None if is_mixed else _spread_times(sorted(set(values)))
    return None


def _spread(values: list[Any], step: Any) -> list[Any]:
    """Return the values themselves, one below, one above and one between each two."""
    found = [values[0] - step]
    for one, other in pairwise(values):
        found += [one, (one + other) / 2]
    return [*found, values[-1], values[-1] + step]


def _spread_times(values: list[Any]) -> list[Any] | None:
    step = timedelta(days=1)
    try:
        found = [values[0] - step]
        for one, other in pairwise(values):
            found.append(one)
            between = one + (other - one) / 2
            if one < between < other:  # two dates in a row have none between them
                found.append(between)
        return [*found, values[-1], values[-1] + step]
    except OverflowError:
        return None


def describe_sample(value: Any) -> str:
    """Say a sample as an example in a message."""
    if value == OTHER_TEXT and isinstance(value, str):
        return "any other text"
    if isinstance(value, str):
        return f'"{value[:40]}"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        text = format(value.normalize(), "f")
        return "0" if text == "-0" else text
    return value.isoformat() if isinstance(value, date | datetime | time) else str(value)
