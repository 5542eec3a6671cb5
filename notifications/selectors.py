"""Reads of the spine and of deliveries that pages share; none of them grows with history."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Max, Min, OuterRef, QuerySet
from django.utils.formats import number_format
from django.utils.translation import gettext

from config.common.database.sql import CountUpTo, in_number_array, load_sql
from notifications.models import Attempt, Delivery, Endpoint, EventHour, Follower, ListedSubject, Sequencer
from notifications.names import Named, name_endpoints


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


@dataclass(frozen=True)
class Progress:
    position: int
    is_level: bool
    """Whether nothing was left to be read, nor on its way."""


def read_progress(follower: str) -> Progress:
    with connection.cursor() as cursor:
        cursor.execute(load_sql("notifications", "read_progress"), [follower])
        position, last, is_more = cursor.fetchone()
    return Progress(position, is_level=position >= last and not is_more)


MOST_WAITING = 10_000


@dataclass(frozen=True)
class Waiting:
    """How many messages an endpoint is still to get; past `MOST_WAITING` nobody counts on."""

    count: int

    def __str__(self) -> str:
        most = number_format(min(self.count, MOST_WAITING), force_grouping=True)
        return gettext("more than %(count)s") % {"count": most} if self.count > MOST_WAITING else most


def count_waiting(endpoint_ids: Collection[int]) -> dict[int, Waiting]:
    """Count what is pending for each endpoint, in one query."""
    # Both values of `is_retry` are named so that each count is a piece of `delivery_due`.
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
    """Return when a message is tried next, now where that is due; None where nothing is sent to its receiver."""
    if due_at is None or not is_sending:
        return None
    return max(each for each in (now, due_at, None if is_forced else probe_at, not_before) if each is not None)


@dataclass(frozen=True)
class Unreachable:
    """A receiver that does not answer."""

    name: str
    page: str
    """Empty where it has none."""
    since: datetime
    waiting: Waiting


def find_unreachable(limit: int) -> list[Unreachable]:
    """Return the receivers behind an open breaker, whoever has not answered for longest first."""
    rows = list(Endpoint.objects.unreachable().order_by("opened_at", "pk")[:limit])
    ids = [row.pk for row in rows]
    owners, counts = name_endpoints(ids), count_waiting(ids)
    return [_unreachable(row, owners.get(row.pk) or Named(row.url), counts[row.pk]) for row in rows]


def _unreachable(endpoint: Endpoint, owner: Named, waiting: Waiting) -> Unreachable:
    assert endpoint.opened_at is not None
    return Unreachable(owner.text, owner.page, endpoint.opened_at, waiting)


def newest_about(deliveries: QuerySet[Delivery], subject: str, *, limit: int, before: int | None = None) -> list[int]:
    """Return the ids of the newest messages that are about a subject, or list it among others.

    Each kind is found by an index of its own: one condition over both would read the whole table.
    """
    own = deliveries.filter(subject=subject)
    lists = ListedSubject.objects.filter(subject=subject, delivery__in=deliveries)
    if before is not None:
        own, lists = own.filter(pk__lt=before), lists.filter(delivery_id__lt=before)
    found = {*own.order_by("-pk").values_list("pk", flat=True)[:limit]}
    found |= {*lists.order_by("-delivery_id").values_list("delivery_id", flat=True)[:limit]}
    return sorted(found, reverse=True)[:limit]


def attempts_of(delivery_ids: Collection[int], *, since: datetime) -> QuerySet[Attempt]:
    """Return the attempts of deliveries that were created since then, oldest first: no earlier day is looked at."""
    # SQLite compares times as text, which may differ within a millisecond.
    days = Attempt.objects.filter(recorded_at__gte=since - timedelta(seconds=1))
    return days.filter(delivery__in=in_number_array(delivery_ids)).order_by("pk")


def first_delivery_since(moment: datetime) -> int:
    """Return the id from which on deliveries were created at that time or later, found by halving.

    Ids rise with the time, up to the moments that transactions take: no index of the time is needed for a page.
    """
    ends = Delivery.objects.aggregate(low=Min("pk"), high=Max("pk"))
    low, high = ends["low"] or 1, (ends["high"] or 0) + 1
    while low < high:
        middle = (low + high) // 2
        rows = Delivery.objects.filter(pk__gte=middle).order_by("pk").values_list("pk", "created_at")
        pk, created_at = rows.first() or (high, moment)
        if created_at < moment:
            low = pk + 1
        else:
            high = middle
    return low
