"""Messages about alerts to the recipients of the ladder: deliveries of the family `ALERT`.

Alerts that arise together are one message to each recipient and channel. A message waits for `GATHER` before it is
sent, and for `APART` after the one before it; alerts that come meanwhile join it, in their order. So a message leaves
five seconds after its rung is due, and in a flood of alerts a minute after it at the latest. Alerts join a message that
could not be sent as well: whoever is reached after an outage reads one message, not many.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q, QuerySet
from django.utils import timezone

from config.common.times import format_time
from notifications.models import Alert, Delivery, ListedSubject
from notifications.names import page_of_subject
from notifications.services.deliveries import NewDelivery, enqueue_deliveries
from notifications.subjects import alert_subject

RAISED, CLOSED, SEVERAL = "alert.raised", "alert.closed", "alerts"
GATHER = timedelta(seconds=5)
APART = timedelta(seconds=60)
MOST_TOGETHER = 200
"""A message lists no more alerts; the next ones make another."""

PREFIX = "alert/"


def enqueue_alert_messages(alert: Alert, type: str, endpoint_ids: Iterable[int]) -> None:
    """Enqueue a message about an alert for each of these endpoints. The caller has locked the row of the alert."""
    body = _body(alert, type)
    now = timezone.now()
    # In the order of their ids: two transactions that join the same messages cannot deadlock.
    for endpoint_id in sorted(set(endpoint_ids)):
        if not _join_waiting_message(endpoint_id, body, now):
            _start_message(endpoint_id, body, alert.correlation_id, now)


def enqueue_to_earlier_recipients(alert: Alert, type: str) -> None:
    """Enqueue a message about an alert for every endpoint that has had one about it."""
    own, listed = _select_messages_about([alert_subject(alert.pk)])
    enqueue_alert_messages(
        alert, type, {*own.values_list("endpoint_id", flat=True), *listed.values_list("endpoint_id", flat=True)}
    )


def find_deliveries_of_unnotified_alerts(delivery_ids: Collection[int]) -> set[int]:
    """Return those of these deliveries that are about an open alert of which no message has reached anybody yet."""
    subjects: dict[str, set[int]] = {}
    for pk, subject in Delivery.objects.filter(pk__in=delivery_ids).values_list("pk", "subject"):
        subjects.setdefault(subject, set()).add(pk)
    for pk, subject in ListedSubject.objects.filter(delivery__in=delivery_ids).values_list("delivery_id", "subject"):
        subjects.setdefault(subject, set()).add(pk)
    numbers = [int(subject.removeprefix(PREFIX)) for subject in subjects if subject.startswith(PREFIX)]
    is_open = Alert.objects.filter(pk__in=numbers, status=Alert.Status.OPEN).values_list("pk", flat=True)
    own, listed = _select_messages_about([alert_subject(pk) for pk in is_open])
    delivered = Delivery.Status.DELIVERED
    notified = {*own.filter(status=delivered).values_list("subject", flat=True)}
    notified |= {*listed.filter(delivery__status=delivered).values_list("subject", flat=True)}
    return {pk for number in is_open if (subject := alert_subject(number)) not in notified for pk in subjects[subject]}


def _select_messages_about(subjects: Collection[str]) -> tuple[QuerySet[Delivery], QuerySet[ListedSubject]]:
    """Return the messages that began with one of these alerts, and the entries of those that joined one later."""
    own = Delivery.objects.filter(subject__in=subjects, family=Delivery.Family.ALERT)
    return own, ListedSubject.objects.filter(subject__in=subjects)


def _join_waiting_message(endpoint_id: int, body: dict[str, Any], now: datetime) -> bool:
    """Add an alert to the message that still waits to be sent; return False if there is none."""
    waiting = Delivery.objects.filter(Q(under_way_until=None), endpoint=endpoint_id, family=Delivery.Family.ALERT)
    # `skip_locked`: to wait for a row that is just being claimed or finished could deadlock.
    waiting = waiting.select_for_update(no_key=True, skip_locked=True).filter(status=Delivery.Status.PENDING)
    row = waiting.order_by("-pk").first()
    if row is None:
        return False
    entries = {entry["id"]: entry for entry in list_entries(row.body)}
    entries[body["id"]] = body
    if len(entries) > MOST_TOGETHER:
        return False
    assert row.due_at is not None
    row.body = body if len(entries) == 1 else {"version": 1, "type": SEVERAL, "alerts": list(entries.values())}
    # The alert that joins has all its attempts before it, and must not wait for a late retry of the others.
    row.type, row.attempts, row.due_at = row.body["type"], 0, min(row.due_at, now + APART)
    row.save(update_fields=["body", "type", "attempts", "due_at"])
    subject = alert_subject(body["id"])
    if subject != row.subject:
        ListedSubject.objects.get_or_create(
            delivery=row, subject=subject, defaults={"endpoint_id": endpoint_id, "is_open": False}
        )
    return True


def _start_message(endpoint_id: int, body: dict[str, Any], correlation_id: str, now: datetime) -> None:
    # The distance to the last message bounds how often a person is disturbed.
    last = Delivery.objects.filter(endpoint=endpoint_id, family=Delivery.Family.ALERT).order_by("-pk").first()
    due_at = now + GATHER if last is None else max(now + GATHER, last.created_at + APART)
    subject = alert_subject(body["id"])
    family = Delivery.Family.ALERT
    enqueue_deliveries(
        [NewDelivery(endpoint_id, body["type"], family, subject, body, correlation_id, delay=due_at - now)]
    )


def list_entries(body: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the alerts in the body of a message, in their order."""
    return list(body["alerts"]) if body.get("type") == SEVERAL else [body]


def _body(alert: Alert, type: str) -> dict[str, Any]:
    """Return all that the text needs: it is worded when it is sent."""
    at = alert.resolved_at if type == CLOSED else alert.last_at
    return {
        "version": 1,
        "type": type,
        "id": alert.pk,
        "kind": alert.kind,
        "subject": alert.subject,
        "page": page_of_subject(alert.subject),
        "title": alert.title,
        "detail": alert.detail,
        "count": alert.count,
        "first_at": format_time(alert.first_at),
        "at": None if at is None else format_time(at),
        "note": alert.resolution if type == CLOSED else "",
    }
