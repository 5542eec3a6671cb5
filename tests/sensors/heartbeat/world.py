"""A database whose clock can be set, and time that passes as the tests say."""

from datetime import UTC, datetime, timedelta

from sensors.heartbeat.clock import Clock
from sensors.models import SteadyClock

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class World:
    """A database whose clock can be set, and time that passes as it does."""

    def __init__(self) -> None:
        self.passed = 0.0
        self.database = NOON

    def wait(self, seconds: float) -> None:
        self.passed += seconds
        self.database += timedelta(seconds=seconds)

    def new_clock(self) -> Clock:
        """A clock as a process that starts has one."""
        ahead = SteadyClock.objects.filter(pk=1).values_list("ahead_ms", flat=True)
        return Clock(lambda: (self.database, ahead.first() or 0), lambda: self.passed)
