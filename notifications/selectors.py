"""Reads of events and deliveries that pages share; the cost of none grows with history."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.db import connection
from django.db.models import OuterRef, QuerySet
from django.utils.formats import number_format
from django.utils.translation import gettext

from config.common.database.sql import CountUpTo, in_number_array, load_engine_sql, load_sql
from notifications.models import (
    Attempt,
    Delivery,
    Endpoint,
    Event,
    EventHour,
    EventMinute,
    Follower,
    ListedSubject,
    Sequencer,
)


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
    """Return the number of events of each of the last hours, the current one last."""
    this_hour = at.replace(minute=0, second=0, microsecond=0)
    shown = [this_hour - timedelta(hours=back) for back in reversed(range(hours))]
    counts = dict(EventHour.objects.filter(hour__gte=shown[0]).values_list("hour", "count"))
    return [HourCount(hour, counts.get(hour, 0)) for hour in shown]


def read_minutes(at: datetime, *, minutes: int = 60) -> dict[tuple[str, str], list[int]]:
    """Return, by type and outcome, the number of counted events of each of the last minutes, the current one last."""
    first = at.replace(second=0, microsecond=0) - timedelta(minutes=minutes - 1)
    rows = EventMinute.objects.filter(minute__gte=first).values_list("minute", "type", "outcome", "count")
    found: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0] * minutes)
    for minute, kind, outcome, count in rows:
        place = (minute - first) // timedelta(minutes=1)
        if place < minutes:  # stamped by a clock that is ahead of this one
            found[kind, outcome][place] += count
    return dict(found)


def follower_lags() -> list[FollowerLag]:
    """Return how many stamped events each follower has not read yet."""
    last = Sequencer.objects.values_list("position", flat=True).filter(pk=1).first() or 0
    return [
        FollowerLag(row.name, max(0, last - row.position), row.failures, row.last_error)
        for row in Follower.objects.order_by("name")
    ]


@dataclass(frozen=True)
class Progress:
    position: int
    is_level: bool
    """Whether every event is read, and none waits for its position."""
    lag: int = 0
    """How many positions there are to read."""


def read_progress(follower: str) -> Progress:
    """Return how far a follower has read."""
    with connection.cursor() as cursor:
        cursor.execute(load_sql("notifications", "read_progress"), [follower])
        position, last, is_more = cursor.fetchone()
    lag = max(0, last - position)
    return Progress(position, is_level=not lag and not is_more, lag=lag)


MOST_WAITING = 10_000


@dataclass(frozen=True)
class Waiting:
    """How many deliveries of an endpoint are pending, counted up to `MOST_WAITING`."""

    count: int

    def __str__(self) -> str:
        most = number_format(min(self.count, MOST_WAITING), force_grouping=True)
        return gettext("more than %(count)s") % {"count": most} if self.count > MOST_WAITING else most


def count_waiting(endpoint_ids: Collection[int]) -> dict[int, Waiting]:
    """Count the pending deliveries of each endpoint, in one query."""
    # Both values of `is_retry` are named so that the planner answers each count from the index `delivery_due`.
    pending = Delivery.objects.filter(status=Delivery.Status.PENDING, is_retry__in=(False, True))
    pending = pending.filter(endpoint=OuterRef("pk"))
    counts = CountUpTo(pending.order_by().values("pk")[: MOST_WAITING + 1])
    rows = Endpoint.objects.filter(pk__in=list(endpoint_ids)).annotate(waiting=counts).values_list("pk", "waiting")
    return {pk: Waiting(count) for pk, count in rows} if endpoint_ids else {}


def find_next_attempt(  # noqa: PLR0913 (the columns that decide it)
    *,
    due_at: datetime | None,
    is_forced: bool,
    is_sending: bool,
    probe_at: datetime | None,
    not_before: datetime | None,
    now: datetime,
) -> datetime | None:
    """Return when a delivery is attempted next, `now` if it is due; None if nothing is sent to its endpoint."""
    if due_at is None or not is_sending:
        return None
    return max(each for each in (now, due_at, None if is_forced else probe_at, not_before) if each is not None)


def newest_about(deliveries: QuerySet[Delivery], subject: str, *, limit: int, before: int | None = None) -> list[int]:
    """Return the ids of the newest deliveries that are about a subject, or list it among others."""
    # Two queries, each by an index of its own: one condition over both would read the whole table.
    own = deliveries.filter(subject=subject)
    lists = ListedSubject.objects.filter(subject=subject, delivery__in=deliveries)
    if before is not None:
        own, lists = own.filter(pk__lt=before), lists.filter(delivery_id__lt=before)
    found = {*own.order_by("-pk").values_list("pk", flat=True)[:limit]}
    found |= {*lists.order_by("-delivery_id").values_list("delivery_id", flat=True)[:limit]}
    return sorted(found, reverse=True)[:limit]


def attempts_of(delivery_ids: Collection[int], *, since: datetime) -> QuerySet[Attempt]:
    """Return the attempts of deliveries that were created since then, oldest first."""
    # By `recorded_at`, so that no partition of an earlier day is read.
    # SQLite compares times as text, which may differ within a millisecond.
    days = Attempt.objects.filter(recorded_at__gte=since - timedelta(seconds=1))
    return days.filter(delivery__in=in_number_array(delivery_ids)).order_by("pk")


def first_delivery_since(time: datetime) -> int:
    """Return the first id of the deliveries created at that time or later.

    Ids rise with the time, but for the length of a transaction.
    """
    return first_deliveries_since([time])[0]


def first_deliveries_since(times: Sequence[datetime]) -> list[int]:
    """Return the same for each of some times, by one query."""
    asked: Any = list(times)
    if connection.vendor != "postgresql":
        asked = msgspec.json.encode([str(connection.ops.adapt_datetimefield_value(time)) for time in times]).decode()
    with connection.cursor() as cursor:
        cursor.execute(load_engine_sql("notifications", "first_deliveries"), [asked])
        return [int(low) for (low,) in cursor.fetchall()] or [1] * len(times)


def find_last_chain(subject: str) -> str:
    """Return the correlation id of the newest event about a subject; empty where there is none."""
    newest = Event.objects.filter(subject=subject).order_by("-pk").values_list("correlation_id", flat=True)
    return newest.first() or ""
