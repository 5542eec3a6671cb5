"""Answer `?sensor=&client=&at=`: why a client was not told about a sensor at a time."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from config.access.scopes import Scope
from config.audit.explain import MOST_NEARBY, Asker, Evidence, Explanation, Nearby, Question, link_trace
from config.common.actors import say_actor
from config.common.errors import Invalid
from config.common.times import format_time, from_milliseconds
from config.records.models import AccessKey, ChangeRecord
from notifications.errors import DeliveryNotFound
from notifications.event_titles import event_title
from notifications.models import Alert, Delivery
from notifications.presentation import say_reason
from notifications.services.endpoints import UNREACHABLE
from notifications.subjects import endpoint_subject
from sensors.errors import ClientNotFound, SensorNotFound
from sensors.explanation.collect import collect_case, read_receiver, read_sent, touches
from sensors.explanation.evidence import Case
from sensors.explanation.occurrence import Surroundings, family_of
from sensors.explanation.verdict import Decision, Verdict, decide, judge_delivery
from sensors.explanation.words import state_words, write_sentence
from sensors.history.values import PastEvent
from sensors.ingest.signals import AHEAD, Signal
from sensors.models import Client, Sensor
from sensors.presentation import say_rejection_message
from sensors.selectors import check_sensor, get_client
from sensors.subjects import find_sensor_id

CHANGES_SEARCHED, CHANGES_SHOWN = 50, 3
SENSOR, EVENT, DELIVERY = "sensors.view_sensor", "notifications.view_event", "notifications.view_delivery"
REJECTED, CHANGE, ALERT = "sensors.view_rejectedsignal", "records.view_changerecord", "notifications.view_alert"


def explain_client(asked: Mapping[str, Any], asker: Asker) -> Explanation:
    """Explain why a client was not told about a sensor at a time, or say when it was."""
    sensor, client = _find_parties(asked, asker)
    at, now = asked["at"], timezone.now()
    if at > now + timedelta(milliseconds=AHEAD):
        raise Invalid({"at": [gettext("Must not be in the future.")]})
    case, found = collect_case(
        sensor, client, at, about=asked.get("about", ""), signal_id=asked.get("signal", ""), now=now
    )
    decision = decide(case)
    text = write_sentence(case, decision, sensor=sensor.pk, client=client.name, show=asker.show_time)
    return Explanation(
        gettext("Why was “%(client)s” not notified about sensor %(sensor)s at %(time)s?")
        % {"client": client.name, "sensor": sensor.pk, "time": asker.show_time(at)},
        decision.verdict.value,
        text,
        decision.since,
        decision.until,
        tuple(_evidence(case, decision, sensor, client, asker)),
        tuple(sorted(_nearby(case, found, sensor, client), key=lambda row: row.at, reverse=True))[:MOST_NEARBY],
        about=(
            (sensor.pk, reverse("admin:sensors_sensor_change", args=[sensor.pk])),
            (client.name, reverse("admin:sensors_client_change", args=[client.pk])),
            *link_trace("" if case.occurrence.event is None else case.occurrence.event.correlation_id),
        ),
    )


def explain_delivery(asked: Mapping[str, Any], asker: Asker) -> Explanation:
    """Explain why a delivery has not reached its receiver, or say when it did."""
    delivery = Delivery.objects.select_related("endpoint__client").filter(pk=asked["delivery"]).first()
    client: Client | None = None if delivery is None else getattr(delivery.endpoint, "client", None)
    if delivery is None or (asker.client is not None and (client is None or client.pk != asker.client)):
        raise DeliveryNotFound
    endpoint, now = delivery.endpoint, timezone.now()
    case = Case(now, delivery.created_at, sent=read_sent(delivery), receiver=read_receiver(endpoint, client))
    assert case.sent is not None
    decision = judge_delivery(case, case.sent)
    about, receiver = find_sensor_id(delivery.subject), client.name if client is not None else endpoint.url
    words = {"number": delivery.pk, "receiver": receiver}
    pages = [(gettext("Delivery %(number)s") % words, _delivery_page(delivery.pk))]
    if client is not None:
        pages.append((client.name, reverse("admin:sensors_client_change", args=[client.pk])))
    if about is not None:
        pages.append((about, reverse("admin:sensors_sensor_change", args=[about])))
    return Explanation(
        gettext("Why has delivery %(number)s not reached “%(receiver)s”?") % words,
        decision.verdict.value,
        write_sentence(case, decision, sensor=about or "–", client=receiver, show=asker.show_time),
        decision.since,
        decision.until,
        tuple(_delivery_rows(case)),
        about=(*pages, *link_trace(delivery.correlation_id)),
    )


DELIVERY_QUESTION = Question(
    "delivery",
    Scope.HISTORY_READ,
    explain_delivery,
    permission=DELIVERY,
    key_kinds=frozenset({AccessKey.Kind.CLIENT.value}),
    own_rows=frozenset({DELIVERY}),
    verdicts=tuple(verdict.value for verdict in Verdict),
    good=frozenset({Verdict.TOLD.value}),
    errors=(DeliveryNotFound,),
)
CLIENT_QUESTION = Question(
    "sensor",
    Scope.HISTORY_READ,
    explain_client,
    permission=DELIVERY,
    needs=("client", "at"),
    takes=("about", "signal"),
    key_kinds=frozenset({AccessKey.Kind.CLIENT.value}),
    own_rows=frozenset({SENSOR, EVENT, DELIVERY}),
    verdicts=tuple(verdict.value for verdict in Verdict),
    good=frozenset({Verdict.TOLD.value}),
    errors=(SensorNotFound, ClientNotFound),
)


def _find_parties(asked: Mapping[str, Any], asker: Asker) -> tuple[Sensor, Client]:
    """Return the sensor and the client; a client's key sees its own sensors, and no other client."""
    check_sensor(asked["sensor"], owner=asker.client)
    client = get_client(asked["client"])
    if asker.client is not None and client.pk != asker.client:
        raise SensorNotFound
    return Sensor.objects.select_related("state").get(pk=asked["sensor"]), client


def _evidence(case: Case, decision: Decision, sensor: Sensor, client: Client, asker: Asker) -> Iterator[Evidence]:
    occurrence = case.occurrence
    if occurrence.signal is not None:
        yield _signal_row(occurrence.signal, sensor.pk, asker)
    if occurrence.event is not None:
        yield _event_row(occurrence.event, now=case.now)
    if case.before is not None and case.before.since is not None:
        yield _event_row(case.before.since, now=case.now)
    yield from _refusals(case)
    if case.outage is not None:
        data = {"from": format_time(case.outage.from_at), "to": case.outage.to_at and format_time(case.outage.to_at)}
        yield Evidence(
            case.outage.from_at, "outage", "", gettext("Postern itself could not receive signals"), SENSOR, data
        )
    yield from _delivery_rows(case)
    if decision.verdict == Verdict.BREAKER_OPEN:
        yield from _alert_rows(client)
    for kind, name in _SET_BY_STAFF.get(decision.verdict, ()):
        yield from _change_rows(kind, sensor.pk if kind == "sensor" else str(client.pk), name, at=case.at)


_SET_BY_STAFF: dict[Verdict, tuple[tuple[str, str], ...]] = {
    Verdict.SENSOR_INACTIVE: (("sensor", "active"),),
    Verdict.NOT_REGISTERED: (("sensor", "active"),),
    Verdict.NOT_LINKED: (("sensor", "clients"),),
    Verdict.UNLINKED: (("sensor", "clients"),),
    Verdict.MUTED: (("sensor", "muted_until"), ("client", "muted_until")),
    Verdict.LOSS_UNTOLD: (("sensor", "muted_until"), ("client", "muted_until"), ("sensor", "clients")),
    Verdict.PAUSED: (("client", "paused"),),
    Verdict.CLIENT_INACTIVE: (("client", "active"),),
}
"""Which values of which object decided it."""


def _signal_row(signal: Signal, sensor_id: str, asker: Asker) -> Evidence:
    received_at = from_milliseconds(signal.received_at)
    words = gettext("Signal: %(state)s, received at %(time)s")
    summary = words % {"state": state_words(signal.data), "time": asker.show_time(received_at)}
    data = {"sensor_id": sensor_id, "data": signal.data, "received_at": format_time(received_at)}
    page = reverse("admin:sensors_sensor_change", args=[sensor_id])
    return Evidence(from_milliseconds(signal.at), "signal", signal.id, summary, SENSOR, data, page)


def _event_row(event: PastEvent, *, now: datetime) -> Evidence:
    # History outlives the outbox: the page of an event is there as long as its row.
    is_kept = from_milliseconds(event.recorded_at) > now - timedelta(days=settings.EVENT_DAYS)
    page = reverse("admin:notifications_event_change", args=[event.id]) if is_kept else ""
    data = {"type": event.type, **event.payload, "correlation_id": event.correlation_id}
    return Evidence(
        from_milliseconds(event.at), "event", event.id, event_title(event.type, event.payload), EVENT, data, page
    )


def _refusals(case: Case) -> Iterator[Evidence]:
    refusal, repeat = case.occurrence.refusal, case.occurrence.repeat
    if refusal is not None:
        data = {"code": refusal.code, "message": refusal.message, "count": refusal.count, "raw": refusal.raw}
        page = reverse("admin:sensors_rejectedsignal_change", args=[refusal.pk])
        message = say_rejection_message(refusal.message)
        yield Evidence(refusal.last_at, "rejected", refusal.pk, message, REJECTED, data, page)
    if repeat is not None:
        data = {"at": format_time(repeat.signal_at), "id": repeat.signal_id}
        summary = gettext("The signal was received again")
        yield Evidence(repeat.last_at, "repeat", repeat.signal_id, summary, SENSOR, data)


def _delivery_rows(case: Case) -> Iterator[Evidence]:
    if case.sent is None:
        return
    delivery = case.sent.delivery
    data = {
        "status": delivery.status,
        "reason": delivery.reason,
        "attempts": delivery.attempts_made,
        "superseded_by": delivery.superseded_by_id,
        "next_attempt_at": delivery.due_at and format_time(delivery.due_at),
    }
    yield Evidence(
        delivery.created_at,
        "delivery",
        delivery.pk,
        gettext("Delivery: %(status)s") % {"status": delivery.get_status_display()},
        DELIVERY,
        data,
        _delivery_page(delivery.pk),
    )
    others = [pk for pk in (delivery.superseded_by_id, case.sent.waits_for) if pk is not None]
    for other in Delivery.objects.filter(pk__in=others) if others else ():
        words = gettext("The newer delivery") if other.pk > delivery.pk else gettext("The older delivery")
        summary = f"{words}: {other.get_status_display()}"
        yield Evidence(other.created_at, "delivery", other.pk, summary, DELIVERY, {}, _delivery_page(other.pk))
    for attempt in case.sent.attempts:
        summary = gettext("Attempt: %(outcome)s") % {"outcome": attempt.status or say_reason(attempt.error)}
        data = {"status": attempt.status, "error": attempt.error, "duration_ms": attempt.duration_ms}
        yield Evidence(attempt.at, "attempt", attempt.pk, summary, DELIVERY, data, _delivery_page(delivery.pk))


def _delivery_page(delivery_id: int) -> str:
    return reverse("admin:notifications_delivery_change", args=[delivery_id])


def _alert_rows(client: Client) -> Iterator[Evidence]:
    """Yield the alert about a receiver that does not answer."""
    alerts = Alert.objects.exclude(status=Alert.Status.RESOLVED)
    for alert in alerts.filter(kind=UNREACHABLE, subject=endpoint_subject(client.endpoint_id)):
        data = {"status": alert.status, "count": alert.count}
        page = reverse("admin:notifications_alert_change", args=[alert.pk])
        yield Evidence(alert.first_at, "alert", alert.pk, alert.words, ALERT, data, page)


def _change_rows(kind: str, object_id: str, name: str, *, at: datetime) -> Iterator[Evidence]:
    """Yield the changes of one value around a time: the last before it and the first after it."""
    lines = ChangeRecord.objects.filter(kind=kind, object_id=object_id)
    before = [each for each in lines.filter(at__lte=at).order_by("-pk")[:CHANGES_SEARCHED] if touches(each, name)]
    after = [each for each in lines.filter(at__gt=at).order_by("pk")[:CHANGES_SEARCHED] if touches(each, name)]
    for line in [*reversed(before[:CHANGES_SHOWN]), *after[:CHANGES_SHOWN]]:
        values = {"before": (line.before or {}).get(name), "after": (line.after or {}).get(name)}
        data = {"actor": line.actor, "kind": kind, "object": object_id, "value": name, **values}
        page = reverse("admin:records_changerecord_change", args=[line.pk])
        words = gettext("%(action)s by %(actor)s") % {
            "action": line.get_action_display(),
            "actor": say_actor(line.actor),
        }
        yield Evidence(line.at, "change", line.pk, words, CHANGE, data, page)


def _nearby(case: Case, found: Surroundings, sensor: Sensor, client: Client) -> Iterator[Nearby]:
    """Yield what else happened about then."""
    base = {"sensor": sensor.pk, "client": str(client.pk)}
    told = set()
    for event in found.events:
        told.add((event.at, event.payload.get("signal_id")))
        if event != case.occurrence.event:
            at = from_milliseconds(event.at)
            yield Nearby(
                at,
                "event",
                event_title(event.type, event.payload),
                {**base, "at": format_time(at), "about": family_of(event)},
            )
    for signal in found.signals:
        if signal != case.occurrence.signal and (signal.at, signal.id) not in told:
            at = from_milliseconds(signal.at)
            words = gettext("Signal: %(state)s") % {"state": state_words(signal.data)}
            yield Nearby(at, "signal", words, {**base, "at": format_time(at), "signal": signal.id})
