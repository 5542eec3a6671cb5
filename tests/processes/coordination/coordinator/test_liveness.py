from datetime import UTC, datetime, timedelta

import pytest

from processes.coordination.coordinator.liveness import (
    HEARTBEAT_VALID_FOR,
    LONGEST_TICK,
    advance_clock,
    record_heartbeats,
)
from processes.coordination.models import CoordinatorState, RoleLife
from processes.coordination.protocol.messages import Message, MessageType

pytestmark = [pytest.mark.django_db, pytest.mark.embedded]
START = datetime(2026, 1, 1, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def hear(*roles: str, at: datetime) -> None:
    record_heartbeats([Message(MessageType.ALIVE, role=role) for role in roles], at)


def clock(*moments: datetime) -> float:
    """Return how far the clock goes when it is looked at in these moments."""
    for moment in moments:
        advance_clock(CoordinatorState.objects.get(), at=moment)
    return CoordinatorState.objects.get().clock


class TestTick:
    def test_goes_on_while_all_roles_are_alive(self) -> None:
        hear("writer", "reader/main", at=START)
        assert clock(START, after(2), after(4)) == 4.0

    @pytest.mark.parametrize("alive", [[], ["writer"], ["reader/main"], ["writer", "reader/other"]])
    def test_stands_while_one_is_not(self, alive: list[str]) -> None:
        hear(*alive, at=START)
        assert clock(START, after(2), after(4)) == 0.0

    def test_stands_again_when_one_was_not_heard_of_for_long(self) -> None:
        hear("writer", "reader/main", at=START)
        gone = HEARTBEAT_VALID_FOR.total_seconds()
        hear("writer", at=after(gone))
        assert clock(START, after(2), after(gone), after(gone + 2)) == 2.0

    def test_a_coordinator_that_was_away_counts_little_of_that(self) -> None:
        hear("writer", "reader/main", at=START)
        assert clock(START) == 0.0
        hear("writer", "reader/main", at=after(3600))
        assert clock(after(3600)) == LONGEST_TICK.total_seconds()

    def test_is_not_written_more_than_once_a_second(self) -> None:
        hear("writer", "reader/main", at=START)
        assert clock(START, after(0.4), after(0.8)) == 0.0
        assert clock(after(1.2)) == 1.2

    def test_never_goes_back_when_the_time_does(self) -> None:
        hear("writer", "reader/main", at=START)
        assert clock(START, after(2), after(-100), after(-98)) == 4.0


class TestHearOfLife:
    def test_keeps_the_last_time_of_each(self) -> None:
        hear("writer", "writer", "reader/main", at=START)
        hear("writer", at=after(5))
        assert dict(RoleLife.objects.values_list("name", "seen_at")) == {"writer": after(5), "reader/main": START}
