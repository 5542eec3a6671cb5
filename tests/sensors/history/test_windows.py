from itertools import pairwise

import pytest

from sensors.history.values import Period
from sensors.history.windows import HOUR, read_newest, windows
from sensors.ingest.signals import EARLIEST
from tests.sensors.history.past_records import DAY, NOON

PERIODS = [
    Period(),
    Period(NOON - 3 * DAY, None),
    Period(None, NOON - 400 * DAY),
    Period(NOON - 100 * DAY, NOON + 100 * DAY),
    Period(NOON + DAY, NOON + 2 * DAY),
    Period(EARLIEST - DAY, EARLIEST - 5),
]


class TestWindows:
    @pytest.mark.parametrize("period", PERIODS)
    def test_join_into_the_period_without_gap_or_overlap(self, period: Period) -> None:
        cut = list(windows(period, first=HOUR, now=NOON))
        assert (cut[0].end, cut[-1].start) == (period.end, period.start)
        assert all(newer.start == older.end for newer, older in pairwise(cut))

    def test_are_few_even_for_all_time(self) -> None:
        assert len(list(windows(Period(), first=HOUR, now=NOON))) < 10


class TestReadNewest:
    def test_stops_when_it_has_enough(self) -> None:
        asked: list[tuple[Period, int]] = []

        def read(window: Period, count: int) -> list[int]:
            asked.append((window, count))
            return [1, 2]

        rows = read_newest(read, Period(), limit=3, sensors=["a"], now=NOON)
        assert (len(rows), [count for _, count in asked]) == (4, [3, 1])

    def test_reaches_further_back_for_fewer_sensors_and_longer_pages(self) -> None:
        def first_width(limit: int, sensors: int) -> int:
            asked: list[Period] = []

            def read(window: Period, count: int) -> list[int]:
                asked.append(window)
                return [0] * count

            read_newest(read, Period(), limit=limit, sensors=["a"] * sensors, now=NOON)
            return NOON - (asked[0].start or 0)

        assert first_width(1000, 1) > first_width(100, 1) > first_width(100, 10) > first_width(100, 1000) == HOUR
