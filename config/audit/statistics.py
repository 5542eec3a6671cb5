"""Totals of a period, by client, device and so on. Each app registers what it can count."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

BY = ("device", "subsystem", "database", "enterprise", "client")

Figures: TypeAlias = Mapping[str, Any]
"""One row: `id` and `name`, and whatever is counted."""
Count: TypeAlias = Callable[[datetime, datetime], list[Figures]]
"""Count what happened from the first moment up to, not including, the second."""

_counts: dict[str, Count] = {}


def register_statistics(by: str, count: Count) -> None:
    if by not in BY:
        raise ValueError(f"{by}: statistics are by one of {', '.join(BY)}")
    _counts[by] = count


def read_statistics(by: str, start: datetime, end: datetime) -> list[Figures]:
    """Return the rows in order of id; none where no app counts by that."""
    count = _counts.get(by)
    return [] if count is None else sorted(count(start, end), key=lambda row: row["id"])
