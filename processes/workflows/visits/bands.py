"""Bands of stays by their length: few enough to be counted apart, and narrow enough to tell a median from them."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence

BOUNDS = (1, 3, 10, 30, 60, 180, 600, 1800, 3600, 10_800, 43_200, 86_400, 259_200, 604_800, 2_592_000)
"""Seconds at which the next band begins: from a second to thirty days."""
FIRST = 1


def find_band(seconds: float) -> int:
    """Return the band that a stay belongs to."""
    return FIRST + bisect_right(BOUNDS, seconds)


def estimate_median(bands: Mapping[int, tuple[int, float]]) -> float | None:
    """Return the median of stays, given how many there are in each band and how long they are in all; None of none.

    It is exact to its band; within it the mean of the band's stays stands for it.
    """
    counted: Sequence[tuple[int, int, float]] = sorted((band, *figures) for band, figures in bands.items())
    half, seen = sum(count for _, count, _ in counted) / 2, 0
    for _, count, seconds in counted:
        seen += count
        if count and seen >= half:
            return seconds / count
    return None
