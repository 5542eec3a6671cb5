"""Enqueue deliveries: write the rows of messages to endpoints in the transaction of what they tell."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeAlias

import msgspec
from django.db import OperationalError, connection
from django.db.models import F, Q
from django.utils import timezone

from config.common.background.ring import ring
from config.common.correlation import correlation_id
from config.common.database.sql import bulk_execute, in_number_array
from config.common.ids import new_id
from notifications.models import Delivery

DELIVERIES = "deliveries"
ROUNDS = 5
SUPERSEDING = {Delivery.Family.STATE, Delivery.Family.CONNECTION}

Key: TypeAlias = tuple[int, str, str]


@dataclass(frozen=True)
class NewDelivery:
    endpoint_id: int
    type: str
    family: Delivery.Family
    subject: str
    body: dict[str, Any]
    correlation_id: str = ""
    withheld: str = ""
    """Why it is not to be sent: the row is written as cancelled, so that history has it."""
    for_good: bool = False
    """Whether a withheld delivery stays cancelled even when its client comes back."""
    listed: tuple[str, ...] = ()
    """The subjects that a list names: later deliveries about their connection wait for it."""
    delay: timedelta = timedelta()
    """The time before its first attempt."""


def enqueue_deliveries(deliveries: Sequence[NewDelivery]) -> list[int]:
    """Write the rows, in a few statements whatever their number; return their ids.

    Within a family the newest of a subject supersedes what is still pending, in this batch too. Call it while the row
    lock of each subject is held: the lock orders the deliveries of one subject.
    """
    if not deliveries:
        return []
    ids = _take_ids(len(deliveries))
    newest = {key: pk for pk, each in zip(ids, deliveries, strict=True) if (key := _superseding_key(each)) is not None}
    now, chain = timezone.now(), correlation_id()
    rows = [_row(pk, each, newest, now, chain) for pk, each in zip(ids, deliveries, strict=True)]
    _insert(rows, [(*key, pk) for key, pk in newest.items()])
    listed = [
        (pk, each.endpoint_id, subject) for pk, each in zip(ids, deliveries, strict=True) for subject in each.listed
    ]
    bulk_execute("notifications", "insert_listed", listed)
    ring(DELIVERIES)
    return ids


def _insert(rows: Sequence[tuple[Any, ...]], newest: Sequence[tuple[int, str, str, int]]) -> None:
    """Write the rows and supersede what is pending under their keys.

    The unique constraint `delivery_one_pending_per_family` keeps a row out whose key has a pending one: another
    transaction has just queued the last delivery of that key again. The next round supersedes it.
    """
    missing = len(rows)
    for _ in range(ROUNDS):
        bulk_execute("notifications", "supersede_deliveries", newest)
        missing -= bulk_execute("notifications", "insert_deliveries", rows)
        if not missing:
            return
    raise OperationalError(f"{missing} messages have met others that were written at the same time")


def lock_pending_deliveries(those: Q) -> list[tuple[int, int, str]]:
    """Lock pending rows; return of each its id, endpoint and subject."""
    rows = Delivery.objects.filter(those, status=Delivery.Status.PENDING)
    # In order of id, as everybody locks them: two cannot deadlock.
    return list(rows.select_for_update(no_key=True).order_by("pk").values_list("pk", "endpoint_id", "subject"))


def cancel_deliveries(pks: Collection[int], reason: str) -> None:
    """Cancel rows that the caller has locked; the raised fence voids the outcome of an attempt that is under way."""
    if pks:
        Delivery.objects.filter(pk__in=in_number_array(pks)).update(
            status=Delivery.Status.CANCELLED, reason=reason, due_at=None, under_way_until=None, fence=F("fence") + 1
        )


def _take_ids(count: int) -> list[int]:
    """Take the ids beforehand, in the order of the deliveries, so that a superseded row can name its successor."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT nextval(pg_get_serial_sequence('notifications_delivery', 'id')) FROM generate_series(1, %s)",
                [count],
            )
            return [pk for (pk,) in cursor.fetchall()]
        # Nobody else takes these numbers: transactions of SQLite have the write lock from their beginning.
        cursor.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'notifications_delivery'")
        last: int = cursor.fetchone()[0]
    return list(range(last + 1, last + count + 1))


def _superseding_key(delivery: NewDelivery) -> Key | None:
    if delivery.family not in SUPERSEDING or delivery.withheld:
        return None
    return (delivery.endpoint_id, delivery.subject, delivery.family)


def _row(pk: int, delivery: NewDelivery, newest: dict[Key, int], now: datetime, chain: str) -> tuple[Any, ...]:
    key = _superseding_key(delivery)
    successor = newest[key] if key is not None and newest[key] != pk else None
    status, reason = Delivery.Status.PENDING, ""
    if successor is not None:
        status, reason = Delivery.Status.SUPERSEDED, f"superseded by {successor}"
    elif delivery.withheld:
        status, reason = Delivery.Status.CANCELLED, delivery.withheld
    return (
        pk,
        delivery.endpoint_id,
        delivery.type,
        delivery.family.value,
        delivery.subject,
        msgspec.json.encode(delivery.body).decode(),
        status.value,
        reason,
        successor,
        delivery.for_good,
        now + delivery.delay if status == Delivery.Status.PENDING else None,
        delivery.correlation_id or chain,
        new_id(),
    )
