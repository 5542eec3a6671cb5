"""Reads of the spine that pages and metrics share; none of them grows with history."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from notifications.models import EventHour, Follower, Sequencer


@dataclass(frozen=True)
class HourCount:
    hour: datetime
    count: int


@dataclass(frozen=True)
class FollowerLag:
    name: str
    lag: int
    failures: int
    last_error: str


def events_per_hour(at: datetime, *, hours: int = 24) -> list[HourCount]:
    """Return the number of events of each of the last hours, the running one last, silent hours as zero."""
    this_hour = at.replace(minute=0, second=0, microsecond=0)
    wanted = [this_hour - timedelta(hours=back) for back in reversed(range(hours))]
    counts = dict(EventHour.objects.filter(hour__gte=wanted[0]).values_list("hour", "count"))
    return [HourCount(hour, counts.get(hour, 0)) for hour in wanted]


def follower_lags() -> list[FollowerLag]:
    """Return how many stamped events each follower has still to read."""
    last = Sequencer.objects.values_list("position", flat=True).filter(pk=1).first() or 0
    return [
        FollowerLag(row.name, max(0, last - row.position), row.failures, row.last_error)
        for row in Follower.objects.order_by("name")
    ]
