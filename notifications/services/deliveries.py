"""Owe messages: write the rows of what clients must be told, in the transaction of the fact."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.db.models import F
from django.utils import timezone

from config.common.correlation import correlation_id
from notifications.models import Delivery

Key: TypeAlias = tuple[int, str, str]

SUPERSEDING = {Delivery.Family.STATE, Delivery.Family.CONNECTION}


@dataclass(frozen=True)
class Owed:
    endpoint_id: int
    type: str
    family: Delivery.Family
    subject: str
    body: dict[str, Any]
    correlation_id: str = ""
    cancelled: str = ""
    """Why it is not to be sent at all: kept, so that history says so."""


def owe(messages: Sequence[Owed]) -> list[Delivery]:
    """Write the rows; within a family the newest of a subject supersedes what is still pending, in this batch too.

    Call it while the row lock of each subject is held: the lock orders the messages of one subject.
    """
    if not messages:
        return []
    newest = {key: index for index, message in enumerate(messages) if (key := _key(message)) is not None}
    old = _withdraw_pending(newest)
    now = timezone.now()
    rows = Delivery.objects.bulk_create(
        _row(message, now, is_newest=(key := _key(message)) is None or newest[key] == index)
        for index, message in enumerate(messages)
    )
    _name_successors(old, rows, newest)
    return rows


def _key(message: Owed) -> Key | None:
    if message.family not in SUPERSEDING or message.cancelled:
        return None
    return (message.endpoint_id, message.subject, message.family)


def _withdraw_pending(newest: Iterable[Key]) -> list[tuple[int, Key]]:
    """Supersede what is pending under these keys; return the rows with their keys."""
    wanted = set(newest)
    pending = (
        Delivery.objects.filter(
            status=Delivery.Status.PENDING,
            superseded_by=None,
            endpoint_id__in={key[0] for key in wanted},
            subject__in={key[1] for key in wanted},
        )
        .select_for_update()  # in order of id, as everyone locks deliveries
        .order_by("id")
        .values_list("id", "endpoint_id", "subject", "family")
    )
    old = [(pk, key) for pk, *rest in pending if (key := (rest[0], rest[1], rest[2])) in wanted]
    if old:
        Delivery.objects.filter(pk__in=[pk for pk, _ in old], status=Delivery.Status.PENDING).update(
            status=Delivery.Status.SUPERSEDED, due_at=None, fence=F("fence") + 1
        )
    return old


def _row(message: Owed, now: Any, *, is_newest: bool) -> Delivery:
    status = Delivery.Status.PENDING if is_newest else Delivery.Status.SUPERSEDED
    if message.cancelled:
        status = Delivery.Status.CANCELLED
    return Delivery(
        endpoint_id=message.endpoint_id,
        type=message.type,
        family=message.family,
        subject=message.subject,
        body=message.body,
        status=status,
        reason=message.cancelled,
        due_at=now if status == Delivery.Status.PENDING else None,
        correlation_id=message.correlation_id or correlation_id(),
    )


def _name_successors(old: Sequence[tuple[int, Key]], rows: Sequence[Delivery], newest: dict[Key, int]) -> None:
    """Say of each superseded row by which one: those from before, and the older ones of this batch."""
    followed: dict[int, list[int]] = {}
    for pk, key in old:
        followed.setdefault(rows[newest[key]].pk, []).append(pk)
    for row in rows:
        key = (row.endpoint_id, row.subject, row.family)
        if row.status == Delivery.Status.SUPERSEDED:
            followed.setdefault(rows[newest[key]].pk, []).append(row.pk)
    for successor, pks in followed.items():
        Delivery.objects.filter(pk__in=pks).update(superseded_by=successor, reason=f"superseded by {successor}")
