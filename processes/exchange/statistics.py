"""Statistics of the exchange in a period, in totals and over time: from ≤ at < to.

Hours and days that are over are read from their totals (`services/totals.py`), the rest is counted from the rows: the
first and the last part of the period, and what was changed since it was counted.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any, Literal, TypeAlias

from django.db import connection
from django.db.models import Case, Count, DurationField, F, Func, IntegerField, Model, Q, QuerySet, Sum, Value, When

from config.common.database.counted_spans import Parts, Range
from messaging.models import Device, Enterprise, ExchangeDatabase, Message, Subsystem
from processes.exchange.models import COUNTED, ProcessMessage, SpanTotal

By: TypeAlias = Literal["device", "subsystem", "database", "enterprise"]
PARTIES: dict[By, type[Model]] = {
    "device": Device,
    "subsystem": Subsystem,
    "database": ExchangeDatabase,
    "enterprise": Enterprise,
}
ACCEPTED = ("sent", "bytes", "replies", "reply_bytes")
SETTLED = ("settled", "processed", "incorrect", "waited")
FIGURES = (*ACCEPTED, *SETTLED, "deadlocks")
OVER_TIME = ("sent", "bytes", "processed", "incorrect", "deadlocks")
REQUEST, REPLY = Q(direction=Message.Direction.REQUEST), Q(direction=Message.Direction.REPLY)
# Replies that are prepared or in doubt may yet be deleted.
KNOWN_REPLY = REPLY & Q(status__in=[Message.Status.WAITING, Message.Status.PROCESSED, Message.Status.INCORRECT])
NOTHING: Mapping[str, Any] = {name: timedelta() if name == "waited" else 0 for name in FIGURES}


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
    """Count what each party sent and what became of it; parties without anything are left out."""
    parts = COUNTED.find_parts(start, end)
    rows = _add_up([*_read_totals(by, parts), *count_rows(by, parts.ranges)])
    rows = {key: row for key, row in rows.items() if any(row.values())}
    names = dict(PARTIES[by]._default_manager.filter(pk__in=list(rows)).values_list("pk", "name"))
    return [{"id": key, "name": names[key], **_present(row)} for key, row in sorted(rows.items())]


def count_over_time(by: By, id: str, start: datetime, end: datetime, buckets: int) -> list[Bucket]:
    """Cut the period into equal buckets and count in each; without an id for all parties together."""
    bounds = [start + (end - start) * number / buckets for number in range(buckets)]
    parts = COUNTED.find_parts(start, end, bounds)
    counted = [dict.fromkeys(OVER_TIME, 0) for _ in bounds]
    for number, row in [*_totals_by_bucket(by, id, parts, bounds), *_rows_by_bucket(by, id, parts.ranges, bounds)]:
        for name, count in row.items():
            counted[number][name] += count or 0
    return [Bucket(at, **counts) for at, counts in zip(bounds, counted, strict=True)]


def count_rows(by: By, ranges: Sequence[Range]) -> Iterable[tuple[str, dict[str, Any]]]:
    """Yield what the rows of these times say of each party, in three queries; a party may come several times."""
    if not ranges:
        return
    waited = Sum(F("settled_at") - F("accepted_at"), output_field=DurationField())
    counts: tuple[Any, ...] = (
        _accepted(ranges)
        .values(key=F(by))
        .annotate(
            sent=Count("pk", filter=REQUEST),
            bytes=Sum("size", filter=REQUEST, default=0),
            replies=Count("pk", filter=KNOWN_REPLY),
            reply_bytes=Sum("size", filter=KNOWN_REPLY, default=0),
        ),
        _settled(ranges).values(key=F(by)).annotate(settled=Count("pk"), waited=waited, **_outcomes()),
        _deadlocks(ranges).values(key=F(f"message__{by}")).annotate(deadlocks=Count("pk")),
    )
    for found in counts:
        yield from ((row.pop("key"), row) for row in found)


def _read_totals(by: By, parts: Parts) -> Iterable[tuple[str, dict[str, Any]]]:
    if not parts.spans:
        return
    totals = SpanTotal.objects.filter(span__in=list(parts.spans), by=by).order_by()
    rows: Any = totals.values("party").annotate(**{f"all_{name}": Sum(name) for name in FIGURES})
    for row in rows:
        yield row["party"], {name: row[f"all_{name}"] for name in FIGURES}


def _add_up(rows: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, dict[str, Any]]:
    whole: dict[str, dict[str, Any]] = {}
    for key, row in rows:
        known = whole.setdefault(key, dict(NOTHING))
        for name, value in row.items():
            known[name] += value
    return whole


def _present(row: Mapping[str, Any]) -> dict[str, Any]:
    mean = row["waited"] / row["settled"] if row["settled"] else None
    names = ("sent", "processed", "incorrect", "deadlocks", "bytes", "replies", "reply_bytes")
    seconds = None if mean is None else round(max(0.0, mean.total_seconds()), 3)
    return {**{name: row[name] for name in names}, "mean_waiting_seconds": seconds}


def _totals_by_bucket(
    by: By, id: str, parts: Parts, bounds: Sequence[datetime]
) -> Iterable[tuple[int, dict[str, Any]]]:
    if not parts.spans:
        return
    totals = SpanTotal.objects.filter(span__in=list(parts.spans), by=by, **({"party": id} if id else {})).order_by()
    rows: Any = totals.values("span_id").annotate(**{f"all_{name}": Sum(name) for name in OVER_TIME})
    for row in rows:
        number = bisect_right(bounds, parts.spans[row["span_id"]]) - 1
        yield number, {name: row[f"all_{name}"] for name in OVER_TIME}


def _rows_by_bucket(
    by: By, id: str, ranges: Sequence[Range], bounds: Sequence[datetime]
) -> Iterable[tuple[int, dict[str, Any]]]:
    if not ranges:
        return
    own = {by: id} if id else {}
    accepted, settled = _accepted(ranges).filter(REQUEST, **own), _settled(ranges).filter(**own)
    deadlocks = _deadlocks(ranges).filter(**{f"message__{name}": value for name, value in own.items()})
    for rows in (
        _by_bucket(accepted, "accepted_at", bounds).annotate(sent=Count("pk"), bytes=Sum("size")),
        _by_bucket(settled, "settled_at", bounds).annotate(**_outcomes()),
        _by_bucket(deadlocks, "prepared_at", bounds).annotate(deadlocks=Count("pk")),
    ):
        yield from ((row.pop("bucket_number"), row) for row in rows)


def _accepted(ranges: Sequence[Range]) -> QuerySet[Message]:
    return Message.objects.filter(_within("accepted_at", ranges)).order_by()


def _settled(ranges: Sequence[Range]) -> QuerySet[Message]:
    return Message.objects.filter(REQUEST, _within("settled_at", ranges)).order_by()


def _deadlocks(ranges: Sequence[Range]) -> QuerySet[ProcessMessage]:
    deadlocked = ProcessMessage.objects.filter(result=ProcessMessage.Result.DEADLOCK)
    return deadlocked.filter(_within("prepared_at", ranges)).order_by()


def _within(column: str, ranges: Sequence[Range]) -> Q:
    return reduce(or_, (Q(**{f"{column}__gte": start, f"{column}__lt": end}) for start, end in ranges))


def _outcomes() -> dict[str, Count]:
    return {
        "processed": Count("pk", filter=Q(status=Message.Status.PROCESSED)),
        "incorrect": Count("pk", filter=Q(status=Message.Status.INCORRECT)),
    }


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
