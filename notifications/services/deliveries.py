"""Owe messages: write the rows of what clients must be told, in the transaction of the fact."""

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
    """Why it is not to be sent: kept, so that history says so."""
    for_good: bool = False
    """Whether what is withheld stays so, even when its client comes back."""
    listed: tuple[str, ...] = ()
    """The subjects that a list names: later messages about their connection wait for it."""
    delay: timedelta = timedelta()
    """For how long it waits before its first attempt."""


def enqueue_deliveries(messages: Sequence[NewDelivery]) -> list[int]:
    """Write the rows, in a few statements whatever their number; return their ids.

    Within a family the newest of a subject supersedes what is still pending, in this batch too. Call it while the row
    lock of each subject is held: the lock orders the messages of one subject.
    """
    if not messages:
        return []
    ids = _take_ids(len(messages))
    newest = {key: pk for pk, message in zip(ids, messages, strict=True) if (key := _key(message)) is not None}
    now, chain = timezone.now(), correlation_id()
    rows = [_row(pk, each, newest, now, chain) for pk, each in zip(ids, messages, strict=True)]
    _insert(rows, [(*key, pk) for key, pk in newest.items()])
    listed = [
        (pk, each.endpoint_id, subject) for pk, each in zip(ids, messages, strict=True) for subject in each.listed
    ]
    bulk_execute("notifications", "insert_listed", listed)
    ring(DELIVERIES)
    return ids


def _insert(rows: Sequence[tuple[Any, ...]], newest: Sequence[tuple[int, str, str, int]]) -> None:
    """Write the rows and supersede what is pending under their keys.

    A second round is for keys whose last message was queued again at this very moment: it is superseded now.
    """
    missing = len(rows)
    for _ in range(ROUNDS):
        bulk_execute("notifications", "supersede_deliveries", newest)
        missing -= bulk_execute("notifications", "insert_deliveries", rows)
        if not missing:
            return
    raise OperationalError(f"{missing} messages have met others that were written at the same time")


def lock_pending_deliveries(those: Q) -> list[tuple[int, int, str]]:
    """Lock pending rows in order of id, as everyone does; return of each its id, endpoint and subject."""
    rows = Delivery.objects.filter(those, status=Delivery.Status.PENDING)
    return list(rows.select_for_update(no_key=True).order_by("pk").values_list("pk", "endpoint_id", "subject"))


def cancel_deliveries(pks: Collection[int], reason: str) -> None:
    """Cancel rows that are locked; whoever is sending one of them writes nothing more about it."""
    if pks:
        Delivery.objects.filter(pk__in=in_number_array(pks)).update(
            status=Delivery.Status.CANCELLED, reason=reason, due_at=None, under_way_until=None, fence=F("fence") + 1
        )


def _take_ids(count: int) -> list[int]:
    """Take the ids beforehand, so that what is superseded can name its successor; rising, as the messages are."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "SELECT nextval(pg_get_serial_sequence('notifications_delivery', 'id')) FROM generate_series(1, %s)",
                [count],
            )
            return [pk for (pk,) in cursor.fetchall()]
        cursor.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'notifications_delivery'")
        last: int = cursor.fetchone()[0]
    return list(range(last + 1, last + count + 1))


def _key(message: NewDelivery) -> Key | None:
    if message.family not in SUPERSEDING or message.withheld:
        return None
    return (message.endpoint_id, message.subject, message.family)


def _row(pk: int, message: NewDelivery, newest: dict[Key, int], now: datetime, chain: str) -> tuple[Any, ...]:
    key = _key(message)
    successor = newest[key] if key is not None and newest[key] != pk else None
    status, reason = Delivery.Status.PENDING, ""
    if successor is not None:
        status, reason = Delivery.Status.SUPERSEDED, f"superseded by {successor}"
    elif message.withheld:
        status, reason = Delivery.Status.CANCELLED, message.withheld
    return (
        pk,
        message.endpoint_id,
        message.type,
        message.family.value,
        message.subject,
        msgspec.json.encode(message.body).decode(),
        status.value,
        reason,
        successor,
        message.for_good,
        now + message.delay if status == Delivery.Status.PENDING else None,
        message.correlation_id or chain,
        new_id(),
    )
