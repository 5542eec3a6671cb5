from datetime import UTC, datetime, timedelta

import pytest

from sensors.heartbeat.deadline import loss_deadline, open_deadline

SEEN = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)


def after(hours: float) -> datetime:
    return SEEN + timedelta(hours=hours)


def deadline(*outages: tuple[float, float]) -> datetime:
    spans = [(after(begin), after(end)) for begin, end in outages]
    return loss_deadline(heard_at=SEEN, timeout=HOUR, outages=spans)


class TestLossDeadline:
    def test_is_last_seen_plus_timeout_while_we_hear(self) -> None:
        assert deadline() == after(1)

    def test_an_outage_before_it_was_seen_does_not_count(self) -> None:
        assert deadline((-3, -1), (-2, 0)) == after(1)

    def test_after_an_outage_the_timeout_begins_anew(self) -> None:
        assert deadline((0.5, 5)) == after(6)

    def test_a_short_outage_gives_the_whole_timeout_again(self) -> None:
        assert deadline((0.5, 0.6)) == after(1.6)

    def test_outages_that_keep_coming_cannot_put_it_off_for_ever(self) -> None:
        spans = [(0.5 + n, 0.6 + n) for n in range(10)]
        assert deadline(*spans) == after(2) + 10 * timedelta(hours=0.1)

    def test_an_outage_that_began_before_it_was_seen_counts_from_there(self) -> None:
        spans = [(-2.0, 0.5)] + [(0.6 + n / 10, 0.61 + n / 10) for n in range(30)]
        assert deadline(*spans) == after(2 + 0.5 + 30 * 0.01)


class TestOpenDeadline:
    @pytest.mark.parametrize(
        ("outages", "hours"),
        [
            ([], 1),
            ([(-2, -1), (-1, 0)], 1),
            ([(0.5, 0.7)], 1.2),
            ([(-1, 0.5)], 1.5),
            ([(0.5, 0.7), (0.6, 0.8)], 1.3),
            ([(0.9, 1.9), (1.95, 2)], 2.05),
            ([(1, 5)], 1),
        ],
    )
    def test_outages_are_no_time_in_which_it_is_known_to_be_open(
        self, outages: list[tuple[float, float]], hours: float
    ) -> None:
        spans = [(after(begin), after(end)) for begin, end in outages]
        assert open_deadline(heard_at=SEEN, limit=HOUR, outages=spans) == after(hours)
