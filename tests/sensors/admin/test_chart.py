from datetime import UTC, datetime, timedelta

import pytest

from config.common.times import to_milliseconds
from sensors.admin.chart import NARROWEST, make_chart
from sensors.history.intervals import Interval

NOON = to_milliseconds(datetime(2026, 5, 1, 12, tzinfo=UTC))
HOUR = 3_600_000


def chart(*intervals: tuple[int, int, int | None, bool]) -> list[tuple[str, float, float]]:
    """Draw a day of intervals that are given in hours; return the bars from left to right."""
    drawn = make_chart(
        [Interval(NOON + a * HOUR, NOON + b * HOUR, v, lost) for a, b, v, lost in intervals],
        NOON,
        NOON + 24 * HOUR,
    )
    return sorted(((bar.kind, bar.left, bar.width) for bar in drawn.bars), key=lambda bar: bar[1])


class TestMakeChart:
    def test_gives_each_interval_its_place(self) -> None:
        assert chart((0, 6, None, False), (6, 12, 1, False), (12, 18, None, True), (18, 24, 0, False)) == [
            ("unknown", 0.0, 250.0),
            ("open", 250.0, 250.0),
            ("lost", 500.0, 250.0),
            ("closed", 750.0, 250.0),
        ]

    def test_adds_up_the_shares(self) -> None:
        drawn = make_chart([Interval(0, 6, 1), Interval(6, 24, 0)], 0, 24)
        assert [(total.kind, total.share) for total in drawn.totals] == [("open", 25.0), ("closed", 75.0)]

    def test_what_is_too_short_to_see_is_still_drawn_and_on_top(self) -> None:
        long, short = Interval(0, 999_000, 0), Interval(999_000, 999_001, 1)
        drawn = make_chart([long, short, Interval(999_001, 1_000_000, 0)], 0, 1_000_000)
        assert (drawn.bars[-1].kind, drawn.bars[-1].width) == ("open", NARROWEST)

    @pytest.mark.slow
    def test_a_flapping_sensor_is_few_shapes(self) -> None:
        flaps = [Interval(n, n + 1, n % 2) for n in range(50_000)]
        drawn = make_chart(flaps, 0, 50_000)
        assert [bar.kind for bar in drawn.bars] == ["changing"]

    @pytest.mark.parametrize(
        ("length", "first"),
        [
            (timedelta(minutes=5), "12:00:00"),
            (timedelta(hours=24), "12:00"),
            (timedelta(days=30), "May 1"),
            (timedelta(days=400), "May 2026"),
        ],
    )
    def test_names_times_from_end_to_end_as_closely_as_its_length_asks_for(self, length: timedelta, first: str) -> None:
        drawn = make_chart([], NOON, NOON + int(length.total_seconds() * 1000))
        assert (len(drawn.ticks), drawn.ticks[0]) == (7, first)
