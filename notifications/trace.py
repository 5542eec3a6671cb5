"""Steps of a trace in this app: events, deliveries with their attempts, sessions, alerts and what became of them."""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone

from config.audit.trace import TraceStep
from config.common.database.sql import in_array, in_number_array
from config.common.times import format_time
from config.common.web.pagination import CHUNK
from notifications.models import Alert, Attempt, Delivery, Event, ListedSubject, RepeatSession
from notifications.selectors import attempts_of, find_next_attempt
from notifications.sending.outcomes import ATTEMPTED
from notifications.subjects import alert_subject


def trace_events(correlation_id: str, most: int) -> Iterator[TraceStep]:
    """Return the events of a correlation id, and those of its alerts: they are acknowledged by other calls."""
    own = Event.objects.filter(correlation_id=correlation_id)
    alerts = [alert_subject(pk) for pk in _alerts(correlation_id, most).values_list("pk", flat=True)]
    of_alerts = Event.objects.filter(subject__in=in_array(alerts)) if alerts else Event.objects.none()
    # Attempts are steps of their own.
    found = chain(
        *(rows.exclude(type=ATTEMPTED).order_by("pk").values_list("pk", flat=True)[:most] for rows in (own, of_alerts))
    )
    chosen = Event.objects.filter(pk__in=in_number_array(sorted(set(found))[:most])).order_by("pk")
    # A few at a time: the caller stops reading when the page is full.
    return map(_event_step, chosen.iterator(chunk_size=CHUNK))


def trace_deliveries(correlation_id: str, most: int) -> Iterator[TraceStep]:
    alerts = [alert_subject(pk) for pk in _alerts(correlation_id, most).values_list("pk", flat=True)]
    # Alerts that share a message share the correlation id of the first of them.
    joined = ListedSubject.objects.filter(subject__in=in_array(alerts)).values_list("delivery_id", flat=True)[:most]
    those = Q(correlation_id=correlation_id) | Q(pk__in=list(joined) if alerts else [])
    deliveries = list(Delivery.objects.filter(those).select_related("endpoint").order_by("pk")[:most])
    yield from map(_delivery_step, deliveries)
    yield from map(_attempt_step, _attempts(deliveries, most))


def trace_alerts(correlation_id: str, most: int) -> Iterator[TraceStep]:
    return (_alert_step(alert) for alert in _alerts(correlation_id, most))


def trace_sessions(correlation_id: str, most: int) -> Iterator[TraceStep]:
    """Return the sessions of a correlation id that are not repeated yet; one that succeeded is deleted."""
    return map(_session_step, RepeatSession.objects.filter(correlation_id=correlation_id).order_by("pk")[:most])


def _alerts(correlation_id: str, most: int) -> QuerySet[Alert]:
    return Alert.objects.filter(correlation_id=correlation_id).order_by("pk")[:most]


def _attempts(deliveries: list[Delivery], most: int) -> Iterable[Attempt]:
    if not deliveries:
        return []
    since = min(delivery.created_at for delivery in deliveries)
    return attempts_of([delivery.pk for delivery in deliveries], since=since)[:most]


def _event_step(event: Event) -> TraceStep:
    data = {"type": event.type, "subject": event.subject, "payload": event.payload}
    page = reverse("admin:notifications_event_change", args=[event.pk])
    return TraceStep(event.at, "event", event.pk, str(event), None, data, page)


def _delivery_step(delivery: Delivery) -> TraceStep:
    data: dict[str, Any] = {
        "type": delivery.type,
        "subject": delivery.subject,
        "url": delivery.endpoint.url,
        "reason": delivery.reason,
        "attempts": delivery.attempts_made,
        "superseded_by": delivery.superseded_by_id,
        "next_attempt_at": _next_attempt(delivery),
    }
    page = reverse("admin:notifications_delivery_change", args=[delivery.pk])
    summary = f"{delivery} → {delivery.endpoint.url}"
    return TraceStep(delivery.created_at, "delivery", delivery.pk, summary, delivery.status, data, page)


def _next_attempt(delivery: Delivery) -> str | None:
    endpoint = delivery.endpoint
    at = find_next_attempt(
        due_at=delivery.due_at,
        is_forced=delivery.is_forced,
        is_sending=endpoint.active and not endpoint.paused,
        probe_at=endpoint.probe_at,
        not_before=endpoint.not_before,
        now=timezone.now(),
    )
    return None if at is None else format_time(at)


def _attempt_step(attempt: Attempt) -> TraceStep:
    data: dict[str, Any] = {
        "delivery": attempt.delivery_id,
        "url": attempt.url,
        "status": attempt.status,
        "duration_ms": attempt.duration_ms,
        "error": attempt.error or None,
    }
    page = reverse("admin:notifications_delivery_change", args=[attempt.delivery_id])
    outcome = str(attempt.status) if attempt.status is not None else attempt.error
    return TraceStep(attempt.at, "attempt", attempt.pk, attempt.url, outcome, data, page)


def _alert_step(alert: Alert) -> TraceStep:
    data = {"kind": alert.kind, "subject": alert.subject, "detail": alert.detail, "count": alert.count}
    page = reverse("admin:notifications_alert_change", args=[alert.pk])
    return TraceStep(alert.first_at, "alert", alert.pk, alert.words, alert.status, data, page)


def _session_step(session: RepeatSession) -> TraceStep:
    data: dict[str, Any] = {
        "theme": session.theme_id,
        "records": session.record_count,
        "repeats": session.repeats,
        "repeat_at": None if session.repeat_at is None else format_time(session.repeat_at),
    }
    page = reverse("admin:notifications_repeatsession_change", args=[session.pk])
    return TraceStep(session.created_at, "session", session.pk, f"session {session}", session.status, data, page)
