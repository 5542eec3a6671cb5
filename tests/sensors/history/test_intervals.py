from typing import Any

import pytest

from config.common.times import format_time, from_milliseconds
from sensors.events import CONNECTION_LOST, CONNECTION_RESTORED, LOSS_WITHDRAWN, STATE_CHANGED
from sensors.history.database import DatabaseStore
from sensors.history.intervals import Interval, make_intervals, read_intervals
from sensors.history.values import PastEvent
from tests.sensors.history.past_records import NOON, event


def change(at: int, data: int) -> PastEvent:
    return event(at, at=NOON + at, type=STATE_CHANGED, payload={"data": data})


def lost(at: int) -> PastEvent:
    return event(at, at=NOON + at, type=CONNECTION_LOST)


def ended(at: int, *, lost_at: int, type: str = CONNECTION_RESTORED) -> PastEvent:
    return event(at, at=NOON + at, type=type, payload={"lost_at": format_time(from_milliseconds(NOON + lost_at))})


def make(*events: PastEvent, start: int = 0, end: int = 100) -> list[tuple[int, int, Any]]:
    made = make_intervals(events, NOON + start, NOON + end)
    return [(each.start - NOON, each.end - NOON, "lost" if each.is_lost else each.value) for each in made]


class TestMakeIntervals:
    def test_without_events_nothing_is_known(self) -> None:
        assert make() == [(0, 100, None)]

    def test_values_follow_the_changes(self) -> None:
        assert make(change(10, 1), change(30, 0)) == [(0, 10, None), (10, 30, 1), (30, 100, 0)]

    def test_a_change_from_before_reaches_in(self) -> None:
        assert make(change(-50, 1), change(60, 0)) == [(0, 60, 1), (60, 100, 0)]

    def test_a_loss_is_a_gap_and_the_value_returns(self) -> None:
        events = [change(-1, 1), lost(20), ended(50, lost_at=20)]
        assert make(*events) == [(0, 20, 1), (20, 50, "lost"), (50, 100, 1)]

    def test_a_loss_without_an_end_lasts(self) -> None:
        assert make(change(-1, 1), lost(20)) == [(0, 20, 1), (20, 100, "lost")]

    def test_a_loss_that_began_before_and_ended_inside(self) -> None:
        assert make(change(-9, 0), ended(40, lost_at=-5)) == [(0, 40, "lost"), (40, 100, 0)]

    def test_a_withdrawn_loss_never_was_even_when_withdrawn_after_the_time(self) -> None:
        assert make(change(-1, 1), lost(20), ended(500, lost_at=20, type=LOSS_WITHDRAWN)) == [(0, 100, 1)]

    def test_a_change_within_a_gap_shows_after_it(self) -> None:
        events = [change(-1, 1), lost(20), change(30, 0), ended(50, lost_at=20)]
        assert make(*events) == [(0, 20, 1), (20, 50, "lost"), (50, 100, 0)]

    def test_overlapping_gaps_are_one(self) -> None:
        events = [change(-1, 1), lost(20), ended(60, lost_at=20), lost(40), ended(70, lost_at=40)]
        assert make(*events) == [(0, 20, 1), (20, 70, "lost"), (70, 100, 1)]


@pytest.mark.embedded
@pytest.mark.django_db
class TestReadIntervals:
    def test_reads_what_reached_into_the_time_and_what_ended_its_losses(self) -> None:
        events = [change(-90, 0), change(-50, 1), lost(-10), ended(15, lost_at=-10), lost(80)]
        DatabaseStore().add_events([*events, ended(300, lost_at=80, type=LOSS_WITHDRAWN)])
        assert read_intervals(["0xA"], NOON, NOON + 100)["0xA"] == [
            Interval(NOON, NOON + 15, None, is_lost=True),
            Interval(NOON + 15, NOON + 100, 1),
        ]

    def test_a_loss_that_had_ended_before_is_no_gap(self) -> None:
        DatabaseStore().add_events([change(-90, 1), lost(-50), ended(-20, lost_at=-50)])
        assert read_intervals(["0xA"], NOON, NOON + 100)["0xA"] == [Interval(NOON, NOON + 100, 1)]
