"""Statistics of the exchange in a period, in totals and over time: from ≤ at < to, counted from the rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from django.db import connection
from django.db.models import Avg, Case, Count, F, Func, IntegerField, Model, Q, QuerySet, Sum, Value, When

from messaging.models import Device, Enterprise, ExchangeDatabase, Message, Subsystem
from processes.exchange.models import ProcessMessage

By: TypeAlias = Literal["device", "subsystem", "database", "enterprise"]
PARTIES: dict[By, type[Model]] = {
    "device": Device,
    "subsystem": Subsystem,
    "database": ExchangeDatabase,
    "enterprise": Enterprise,
}
NOTHING: Mapping[str, Any] = {
    "sent": 0,
    "processed": 0,
    "incorrect": 0,
    "deadlocks": 0,
    "bytes": 0,
    "mean_waiting_seconds": None,
    "replies": 0,
    "reply_bytes": 0,
}
REQUEST, REPLY = Q(direction=Message.Direction.REQUEST), Q(direction=Message.Direction.REPLY)
# Replies that are prepared or in doubt may yet be deleted.
KNOWN_REPLY = REPLY & Q(status__in=[Message.Status.WAITING, Message.Status.PROCESSED, Message.Status.INCORRECT])


@dataclass(frozen=True)
class Bucket:
    """A part of the period, from `at` to that of the next bucket."""

    at: datetime
    sent: int = 0
    processed: int = 0
    incorrect: int = 0
    deadlocks: int = 0
    bytes: int = 0


def counter_by(by: By) -> Callable[[datetime, datetime], list[Mapping[str, Any]]]:
    """Return the function that counts totals by this kind of party."""
    return lambda start, end: count_totals(by, start, end)


def count_totals(by: By, start: datetime, end: datetime) -> list[Mapping[str, Any]]:
    """Count what each party sent and what became of it, in four queries; parties without anything are left out."""
    rows: dict[str, dict[str, Any]] = {}
    counts: tuple[Any, ...] = (
        _count_accepted(_accepted(start, end).values(key=F(by))),
        _settled(start, end)
        .values(key=F(by))
        .annotate(**_outcomes(), mean_waiting_seconds=Avg(F("settled_at") - F("accepted_at"))),
        _deadlocks(start, end).values(key=F(f"message__{by}")).annotate(deadlocks=Count("pk")),
    )
    for found in counts:
        for row in found:
            rows.setdefault(row.pop("key"), dict(NOTHING)).update(_present(row))
    rows = {key: row for key, row in rows.items() if any(row.values())}
    names = dict(PARTIES[by]._default_manager.filter(pk__in=list(rows)).values_list("pk", "name"))
    return [{"id": key, "name": names[key], **row} for key, row in sorted(rows.items())]


def count_over_time(by: By, id: str, start: datetime, end: datetime, buckets: int) -> list[Bucket]:
    """Cut the period into equal buckets and count in each; without an id for all parties together."""
    bounds = [start + (end - start) * number / buckets for number in range(buckets)]
    own = {by: id} if id else {}
    counted: list[dict[str, int]] = [{} for _ in bounds]
    accepted, settled = _accepted(start, end).filter(REQUEST, **own), _settled(start, end).filter(**own)
    deadlocks = _deadlocks(start, end).filter(**{f"message__{name}": value for name, value in own.items()})
    for rows in (
        _by_bucket(accepted, "accepted_at", bounds).annotate(sent=Count("pk"), bytes=Sum("size")),
        _by_bucket(settled, "settled_at", bounds).annotate(**_outcomes()),
        _by_bucket(deadlocks, "prepared_at", bounds).annotate(deadlocks=Count("pk")),
    ):
        for row in rows:
            counted[row.pop("bucket_number")] |= row
    return [Bucket(at, **counts) for at, counts in zip(bounds, counted, strict=True)]


def _accepted(start: datetime, end: datetime) -> QuerySet[Message]:
    return Message.objects.filter(accepted_at__gte=start, accepted_at__lt=end).order_by()


def _settled(start: datetime, end: datetime) -> QuerySet[Message]:
    return Message.objects.filter(REQUEST, settled_at__gte=start, settled_at__lt=end).order_by()


def _deadlocks(start: datetime, end: datetime) -> QuerySet[ProcessMessage]:
    deadlocked = ProcessMessage.objects.filter(result=ProcessMessage.Result.DEADLOCK)
    return deadlocked.filter(prepared_at__gte=start, prepared_at__lt=end).order_by()


def _count_accepted(rows: Any) -> Any:
    return rows.annotate(
        sent=Count("pk", filter=REQUEST),
        bytes=Sum("size", filter=REQUEST, default=0),
        replies=Count("pk", filter=KNOWN_REPLY),
        reply_bytes=Sum("size", filter=KNOWN_REPLY, default=0),
    )


def _outcomes() -> dict[str, Count]:
    return {
        "processed": Count("pk", filter=Q(status=Message.Status.PROCESSED)),
        "incorrect": Count("pk", filter=Q(status=Message.Status.INCORRECT)),
    }


def _present(row: dict[str, Any]) -> dict[str, Any]:
    mean = row.get("mean_waiting_seconds")
    if mean is not None:
        row["mean_waiting_seconds"] = round(max(0.0, mean.total_seconds()), 3)
    return row


def _by_bucket(rows: QuerySet[Any], column: str, bounds: Sequence[datetime]) -> Any:
    """Group rows by the bucket that one of their times lies in."""
    if connection.vendor == "postgresql":  # it searches the bounds, where a `CASE` tries one after the other
        find = "width_bucket(%(expressions)s::timestamptz[]) - 1"
        return rows.values(
            bucket_number=Func(F(column), Value(list(bounds)), template=find, output_field=IntegerField())
        )
    ends = [When(**{f"{column}__lt": bound}, then=Value(number)) for number, bound in enumerate(bounds[1:])]
    last = Value(len(bounds) - 1)
    return rows.values(bucket_number=Case(*ends, default=last, output_field=IntegerField()))
