"""The claim for SQLite: the same two steps as `claim_deliveries.postgresql.sql`, one by one under its write lock."""

from datetime import timedelta
from typing import Any

import msgspec
from django.conf import settings
from django.db import connection
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from notifications.models import Delivery, Endpoint, ListedSubject
from notifications.sending.secret_rotation import find_old_secret

PENDING = Delivery.Status.PENDING
# From one endpoint to the next by the index `delivery_due`: a DISTINCT would read every pending row.
HOP = """
WITH RECURSIVE hop (endpoint_id) AS (
    SELECT min(endpoint_id) FROM notifications_delivery WHERE status = 'pending' AND is_retry = %s AND endpoint_id > %s
    UNION ALL
    SELECT (
        SELECT min(endpoint_id) FROM notifications_delivery
        WHERE status = 'pending' AND is_retry = %s AND endpoint_id > hop.endpoint_id
    )
    FROM hop WHERE hop.endpoint_id IS NOT NULL
)
SELECT endpoint_id FROM hop WHERE endpoint_id IS NOT NULL
"""


def claim_rows(after: int, *, is_retry: bool, limit: int, lease: timedelta) -> list[tuple[Any, ...]]:
    """Claim rows of one endpoint after the other until there are `limit`."""
    found: list[tuple[Any, ...]] = []
    with connection.cursor() as cursor:
        cursor.execute(HOP, [is_retry, after, is_retry])
        endpoint_ids = [pk for (pk,) in cursor.fetchall()]
    for endpoint in Endpoint.objects.filter(_may_send(), pk__in=endpoint_ids).order_by("pk"):
        if len(found) >= limit:
            break
        found += _claim_of_endpoint(endpoint, is_retry, limit - len(found), lease)
    return found


def _may_send() -> Q:
    now = timezone.now()
    forced = Delivery.objects.filter(endpoint=OuterRef("pk"), status=PENDING, is_forced=True)
    calm = Q(not_before=None) | Q(not_before__lte=now)
    closed = Q(opened_at=None) | Q(probe_at__lte=now) | Q(Exists(forced))
    return Q(active=True, paused=False) & calm & closed


def _claim_of_endpoint(endpoint: Endpoint, is_retry: bool, limit: int, lease: timedelta) -> list[tuple[Any, ...]]:
    now = timezone.now()
    is_open = endpoint.opened_at is not None
    is_probe = endpoint.probe_at is not None and endpoint.probe_at <= now
    due = _due_rows(endpoint, is_retry)
    if is_probe:
        limit = 1
    else:
        busy = Delivery.objects.filter(endpoint=endpoint, under_way_until__gt=now).count()
        limit = min(limit, settings.DELIVERY_SLOTS_PER_CLIENT - busy)
        due = due.filter(is_forced=True) if is_open else due
    rows = [_claim_one(row, endpoint, is_probe and not row.is_forced, lease) for row in due[: max(0, limit)]]
    if any(row[10] for row in rows):
        Endpoint.objects.filter(pk=endpoint.pk).update(probe_at=now + lease)
    return rows


def _due_rows(endpoint: Endpoint, is_retry: bool) -> QuerySet[Delivery]:
    key = {"endpoint": OuterRef("endpoint"), "subject": OuterRef("subject")}
    older = Delivery.objects.filter(
        **key, family=OuterRef("family"), status=PENDING, superseded_by__isnull=False, id__lt=OuterRef("id")
    )
    lists = ListedSubject.objects.filter(**key, is_open=True, delivery__status=PENDING, delivery_id__lt=OuterRef("id"))
    due = Delivery.objects.filter(endpoint=endpoint, status=PENDING, is_retry=is_retry, due_at__lte=timezone.now())
    waiting = Q(Exists(older)) | (Q(family=Delivery.Family.CONNECTION) & Q(Exists(lists)))
    return due.exclude(waiting).order_by("due_at", "id")


def _claim_one(row: Delivery, endpoint: Endpoint, is_probe: bool, lease: timedelta) -> tuple[Any, ...]:
    now = timezone.now()
    Delivery.objects.filter(pk=row.pk).update(
        attempts=F("attempts") + (0 if is_probe else 1),
        attempts_made=F("attempts_made") + 1,
        is_retry=True,
        is_forced=False,
        due_at=now + lease,
        under_way_until=now + lease,
        fence=F("fence") + 1,
    )
    body = msgspec.json.encode(row.body).decode()
    attempts = row.attempts + (0 if is_probe else 1)
    sent = (row.pk, row.fence + 1, endpoint.pk, row.type, row.family, row.subject, body)
    state = (attempts, row.superseded_by_id, row.correlation_id, is_probe)
    was_failing = endpoint.failures > 0 or endpoint.opened_at is not None
    old_secret = find_old_secret(endpoint, at=now)
    shown = (row.attempts_made + 1, row.message_id)
    return (*sent, *state, endpoint.url, endpoint.secret, old_secret, was_failing, *shown)
