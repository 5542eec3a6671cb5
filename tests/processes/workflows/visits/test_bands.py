import pytest

from processes.workflows.visits.bands import BOUNDS, estimate_median, find_band


class TestFindBand:
    @pytest.mark.parametrize(
        ("seconds", "band"), [(0, 1), (0.9, 1), (1, 2), (2.9, 2), (3, 3), (2_592_000, len(BOUNDS) + 1)]
    )
    def test_a_band_begins_at_its_bound(self, seconds: float, band: int) -> None:
        assert find_band(seconds) == band


class TestEstimateMedian:
    def test_of_nothing_nothing_is_known(self) -> None:
        assert estimate_median({}) is None

    def test_is_the_mean_of_the_band_in_which_the_middle_lies(self) -> None:
        # 1, 2, 2 and 90,000 seconds: the mean is 22,501, the median 2.
        assert estimate_median({2: (3, 5.0), 13: (1, 90_000.0)}) == pytest.approx(5 / 3)

    def test_one_long_stay_among_two_is_not_the_median_of_three(self) -> None:
        assert estimate_median({1: (2, 0.0), 13: (1, 90_000.0)}) == 0
