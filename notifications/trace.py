"""Steps of a trace in this app: events, deliveries with their attempts, sessions, alerts and what became of them."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from typing import Any

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from config.audit.trace import ATTEMPT, Related, Standing, TraceStep, Upcoming
from config.common.actors import say_actor
from config.common.database.sql import in_array, in_number_array
from config.common.times import format_time
from config.common.web.pagination import CHUNK
from notifications.admin.presentation import bare_address
from notifications.event_titles import event_title
from notifications.models import Alert, Attempt, Delivery, Event, ListedSubject, RepeatSession
from notifications.names import Named, name_endpoints, name_subjects
from notifications.selectors import attempts_of, find_next_attempt
from notifications.sending.outcomes import ATTEMPTED
from notifications.sending.policy import is_success
from notifications.subjects import alert_subject


def trace_events(correlation_id: str, most: int) -> Iterator[TraceStep]:
    """Return the events of a correlation id, and those of its alerts: they are acknowledged by other calls."""
    own = Event.objects.filter(correlation_id=correlation_id)
    alerts = [alert_subject(pk) for pk in _alerts(correlation_id, most).values_list("pk", flat=True)]
    of_alerts = [Event.objects.filter(subject__in=in_array(alerts))] if alerts else []
    # Attempts are steps of their own. Each part by its own index: one condition over both would read the whole table.
    parts = [rows.exclude(type=ATTEMPTED).order_by().values_list("pk", flat=True) for rows in (own, *of_alerts)]
    found = parts[0].union(*parts[1:]).order_by("pk")[:most] if parts[1:] else parts[0].order_by("pk")[:most]
    chosen = Event.objects.filter(pk__in=in_number_array(list(found))).order_by("pk")
    # A few at a time: the caller stops reading when the page is full.
    rows = chosen.iterator(chunk_size=CHUNK)
    while events := list(islice(rows, CHUNK)):
        names = name_subjects([event.subject for event in events])
        yield from (_event_step(event, names) for event in events)


def trace_deliveries(correlation_id: str, most: int) -> Iterator[TraceStep]:
    alerts = [alert_subject(pk) for pk in _alerts(correlation_id, most).values_list("pk", flat=True)]
    # Alerts that share a message share the correlation id of the first of them.
    joined = ListedSubject.objects.filter(subject__in=in_array(alerts)).values_list("delivery_id", flat=True)[:most]
    those = Q(correlation_id=correlation_id) | Q(pk__in=list(joined) if alerts else [])
    deliveries = list(Delivery.objects.filter(those).select_related("endpoint").order_by("pk")[:most])
    # The correlation ids of the deliveries that superseded these, by their numbers.
    numbers = {each.superseded_by_id for each in deliveries if each.superseded_by_id is not None}
    newer = Delivery.objects.filter(pk__in=in_number_array(numbers)) if numbers else Delivery.objects.none()
    successors = dict(newer.values_list("pk", "correlation_id"))
    names = name_subjects([delivery.subject for delivery in deliveries])
    owners = name_endpoints({delivery.endpoint_id for delivery in deliveries})
    for delivery in deliveries:
        owner = owners.get(delivery.endpoint_id)
        receiver = bare_address(delivery.endpoint.url) if owner is None else owner.text
        yield _delivery_step(delivery, successors, names, receiver)
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


def _summarize(title: str, subject: str, names: Mapping[str, Named]) -> str:
    about = names[subject].text if subject in names else subject
    return " · ".join(filter(None, [title, about]))


def _event_step(event: Event, names: Mapping[str, Named]) -> TraceStep:
    data = {"type": event.type, "subject": event.subject, "payload": event.payload}
    page = reverse("admin:notifications_event_change", args=[event.pk])
    actor = str(event.payload.get("by") or "")
    summary = _summarize(event_title(event.type, event.payload), event.subject, names)
    return TraceStep(event.at, "event", event.pk, summary, None, data, page, actor=actor)


_DELIVERIES = {Delivery.Status.PENDING: Standing.OPEN, Delivery.Status.DEAD: Standing.FAILED}
"""All others have ended as they should."""


def _delivery_step(
    delivery: Delivery, successors: dict[int, str], names: Mapping[str, Named], receiver: str
) -> TraceStep:
    next_at = _next_attempt(delivery)
    data: dict[str, Any] = {
        "type": delivery.type,
        "subject": delivery.subject,
        "url": delivery.endpoint.url,
        "reason": delivery.reason,
        "attempts": delivery.attempts_made,
        "superseded_by": delivery.superseded_by_id,
        "next_attempt_at": None if next_at is None else format_time(next_at),
    }
    page = reverse("admin:notifications_delivery_change", args=[delivery.pk])
    title = event_title(delivery.type, delivery.body)
    summary = f"{_summarize(title, delivery.subject, names)} → {receiver}"
    status = Delivery.Status(delivery.status)
    successor = delivery.superseded_by_id
    words = gettext("delivery %(number)s, which superseded it") % {"number": successor}
    return TraceStep(
        delivery.created_at,
        "delivery",
        delivery.pk,
        summary,
        status.value,
        data,
        page,
        standing=_DELIVERIES.get(status, Standing.DONE),
        upcoming=(_coming_attempt(delivery, next_at),) if status == Delivery.Status.PENDING else (),
        related=() if successor is None else (Related(words, successors.get(successor, "")),),
    )


def _coming_attempt(delivery: Delivery, next_at: datetime | None) -> Upcoming:
    if next_at is not None:
        return Upcoming(gettext("next attempt"), next_at)
    return Upcoming(
        gettext("waiting until the client is resumed")
        if delivery.endpoint.active
        else gettext("waiting until the client is active")
    )


def _next_attempt(delivery: Delivery) -> datetime | None:
    endpoint = delivery.endpoint
    return find_next_attempt(
        due_at=delivery.due_at,
        is_forced=delivery.is_forced,
        is_sending=endpoint.active and not endpoint.paused,
        probe_at=endpoint.probe_at,
        not_before=endpoint.not_before,
        now=timezone.now(),
    )


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
    standing = Standing.DONE if is_success(attempt.status) else Standing.FAILED
    return TraceStep(attempt.at, ATTEMPT, attempt.pk, attempt.url, outcome, data, page, standing=standing)


def _alert_step(alert: Alert) -> TraceStep:
    data = {"kind": alert.kind, "subject": alert.subject, "detail": alert.detail, "count": alert.count}
    page = reverse("admin:notifications_alert_change", args=[alert.pk])
    status = Alert.Status(alert.status)
    return TraceStep(
        alert.first_at,
        "alert",
        alert.pk,
        alert.words,
        status.value,
        data,
        page,
        standing=Standing.DONE if status == Alert.Status.RESOLVED else Standing.OPEN,
        upcoming=() if status == Alert.Status.RESOLVED else (_coming_rung(alert),),
    )


def _coming_rung(alert: Alert) -> Upcoming:
    if alert.due_at is not None:
        return Upcoming(gettext("next escalation"), alert.due_at)
    if alert.status == Alert.Status.ACKNOWLEDGED:
        return Upcoming(gettext("waiting to be resolved by %(who)s") % {"who": say_actor(alert.acknowledged_by)})
    return Upcoming(gettext("waiting for somebody to acknowledge it"))


def _session_step(session: RepeatSession) -> TraceStep:
    data: dict[str, Any] = {
        "theme": session.theme_id,
        "records": session.record_count,
        "repeats": session.repeats,
        "repeat_at": None if session.repeat_at is None else format_time(session.repeat_at),
    }
    page = reverse("admin:notifications_repeatsession_change", args=[session.pk])
    status = RepeatSession.Status(session.status)
    coming = {
        RepeatSession.Status.SAVED: Upcoming(gettext("next attempt"), session.due_at),
        RepeatSession.Status.ACTIVE: Upcoming(gettext("saved for a later attempt unless it is used"), session.due_at),
        RepeatSession.Status.EXHAUSTED: Upcoming(gettext("waiting for a decision")),
    }
    return TraceStep(
        session.created_at,
        "session",
        session.pk,
        gettext("session %(name)s") % {"name": session},
        status.value,
        data,
        page,
        standing=Standing.FAILED if status == RepeatSession.Status.EXHAUSTED else Standing.OPEN,
        upcoming=(coming[status],),
    )
