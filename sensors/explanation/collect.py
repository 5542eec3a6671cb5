"""Collect what is known about one sensor, one client and one time. Each read is answered by an index and bounded."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from config.audit.as_of import BeforeRecords, NotRegisteredThen, get_values_at
from config.audit.changes import Values
from config.common.times import format_time, from_milliseconds, parse_time, to_milliseconds
from config.records.models import ChangeRecord
from notifications.models import Delivery, Endpoint, Event, ListedSubject
from notifications.selectors import attempts_of
from notifications.sending.policy import is_success
from sensors.events import CONNECTION_LOST, CONNECTION_RESTORED, EVENT_TYPES, STATE_CHANGED
from sensors.explanation.evidence import (
    Before,
    Case,
    LinkThen,
    Occurrence,
    Outage,
    Reach,
    Receiver,
    SensorThen,
    Sent,
)
from sensors.explanation.occurrence import NEAR, Surroundings, choose_occurrence
from sensors.heartbeat.clock import clock
from sensors.heartbeat.ingest_liveness import UNKNOWN_AFTER, watermark
from sensors.history.database import within
from sensors.history.errors import HistoryAway
from sensors.history.queries import read_attempts, read_events
from sensors.history.store import get_store
from sensors.history.values import PastEvent, Period, to_past_event
from sensors.history.windows import months_back
from sensors.ingest.signals import AHEAD, Signal
from sensors.models import Client, DeafSpan, RejectedSignal, RepeatedSignal, Sensor, WayIn
from sensors.selectors import clients_of
from sensors.services.publish import CLIENT_MUTED, SENSOR_MUTED
from sensors.subjects import subject_of

MOST_AROUND = 100
"""Events and signals of the minutes around a time: the newest of them."""
MOST_ATTEMPTS = 20
MOST_LISTS = 100
"""The newest lists that name a sensor, among which the one of an event is looked for."""
MOST_LATER = 1000
"""The deliveries about a sensor after a loss that was withheld, among which the one that told it is looked for."""
LINK_SETTLES = timedelta(minutes=1)
"""A link that ends so soon after an event may have ended while the event waited for the lock of its sensor."""
MOST_CHANGES = 100
HISTORY_OF_ATTEMPTS = timedelta(days=4)
"""How long after an event its last attempt is, at most: a breaker gives up after three days."""


def collect_case(
    sensor: Sensor, client: Client, at: datetime, *, about: str = "", signal_id: str = "", now: datetime
) -> tuple[Case, Surroundings]:
    """Return the case of a time, and what else is known around it."""
    found, reach = _look_around(sensor, at, now=now)
    occurrence = choose_occurrence(found, at, about=about, signal_id=signal_id)
    case = Case(
        now=now,
        at=at,
        occurrence=occurrence,
        reach=reach,
        sensor=_find_sensor_then(sensor, at),
        are_refusals_kept=at >= now - timedelta(days=settings.REJECTED_DAYS),
    )
    if occurrence.event is not None:
        return _add_delivery(case, sensor, client, occurrence.event), found
    if occurrence.signal is not None:
        return _add_before(case, sensor, occurrence.signal), found
    if occurrence == Occurrence():
        return _add_silence(case, sensor), found
    return case, found


def _look_around(sensor: Sensor, at: datetime, *, now: datetime) -> tuple[Surroundings, Reach]:
    begin, end = at - NEAR, at + NEAR
    period, reach = Period(to_milliseconds(begin), to_milliseconds(end) + 1), Reach.WHOLE
    signals: list[Signal] = []
    try:
        events, signals = _read_history(sensor.pk, period, to_milliseconds(at))
        reach = _measure_reach(sensor, at, signals, now=now)
    except HistoryAway:
        events, reach = _read_outbox(sensor.pk, period), Reach.AWAY
    # By whole minutes: that is the key of both tables.
    minutes = {
        "recorded_at__gte": begin.replace(second=0, microsecond=0),
        "recorded_at__lte": end,
        "sensor_id": sensor.pk,
    }
    refusals = RejectedSignal.objects.filter(**minutes).order_by("-last_at")[:MOST_AROUND]
    repeats = RepeatedSignal.objects.filter(**minutes).order_by("-last_at")[:MOST_AROUND]
    around = (begin, end)
    return Surroundings(
        events,
        signals,
        [row for row in refusals if _is_around(row.recorded_at, row.last_at, around)],
        [row for row in repeats if _is_around(row.recorded_at, row.last_at, around)],
    ), reach


def _read_history(sensor_id: str, period: Period, asked: int) -> tuple[list[PastEvent], list[Signal]]:
    """Return the newest events and signals of the period, and those of the very time whatever their number."""
    events = read_events([sensor_id], period, limit=MOST_AROUND)
    signals = get_store().read_signals([sensor_id], period, limit=MOST_AROUND)
    if max(len(events), len(signals)) == MOST_AROUND:
        exact = Period(asked, asked + 1)
        events += [each for each in read_events([sensor_id], exact, limit=MOST_AROUND) if each not in events]
        found = get_store().read_signals([sensor_id], exact, limit=MOST_AROUND)
        signals += [each for each in found if each not in signals]
    return events, signals


def _is_around(first: datetime, last: datetime, around: tuple[datetime, datetime]) -> bool:
    return first <= around[1] and last >= around[0]


def _read_outbox(sensor_id: str, period: Period) -> list[PastEvent]:
    """Return the events of the period from the outbox, which needs no engine of history."""
    assert period.start is not None
    assert period.end is not None
    # What a signal caused is recorded after its own time, but for clocks that run ahead; looked for within a day.
    first, last = from_milliseconds(period.start - AHEAD), from_milliseconds(period.end) + timedelta(days=1)
    rows = Event.objects.filter(within(period), subject=subject_of(sensor_id), type__in=EVENT_TYPES)
    rows = rows.filter(recorded_at__gte=first, recorded_at__lt=last).order_by("-id")[:MOST_AROUND]
    return [to_past_event(row) for row in rows]


def _measure_reach(sensor: Sensor, at: datetime, signals: list[Signal], *, now: datetime) -> Reach:
    months = settings.HISTORY_RETENTION_MONTHS
    if months and at < months_back(now, months):
        return Reach.EXPIRED
    state, end = sensor.state, to_milliseconds(at + NEAR)
    if state.last_at is None or signals or state.last_at < at - NEAR:
        return Reach.WHOLE
    # A signal after that time shows that history has passed it; where it lacks the newest one, others may be missing.
    if get_store().read_signals([sensor.pk], Period(start=end), limit=1):
        return Reach.WHOLE
    key = (to_milliseconds(state.last_at), sensor.pk, state.last_id)
    return Reach.WHOLE if get_store().find_signals([key]) else Reach.BEHIND


def _find_sensor_then(sensor: Sensor, at: datetime) -> SensorThen:
    try:
        is_active = bool(_read_sensor_values(sensor, at)["active"])
    except NotRegisteredThen as error:
        return SensorThen(is_registered=False, is_active=None, changed_at=parse_time(error.data["created_at"]))
    except BeforeRecords:
        return SensorThen(is_active=None)
    return SensorThen(is_active=is_active, changed_at=_find_change("sensor", sensor.pk, "active", before=at))


def _read_sensor_values(sensor: Sensor, at: datetime) -> Values:
    """Return what decided about messages at a time; raise `NotRegisteredThen` or `BeforeRecords`."""
    clients = clients_of([sensor.pk]).get(sensor.pk, [])
    present = {"active": sensor.active, "muted_until": _text(sensor.muted_until), "clients": clients}
    return get_values_at("sensor", sensor.pk, at, present=present, created_at=sensor.created_at)


def _text(at: datetime | None) -> str | None:
    """Return a time as the change log has it."""
    return None if at is None else at.isoformat()


def _find_change(kind: str, object_id: str, name: str, *, before: datetime) -> datetime | None:
    """Return when a value was last set before a time, if one of the changes before it tells."""
    return next((line.at for line in _list_changes(kind, object_id, before) if touches(line, name)), None)


def _list_changes(kind: str, object_id: str, before: datetime) -> Iterable[ChangeRecord]:
    lines = ChangeRecord.objects.filter(kind=kind, object_id=object_id, at__lte=before)
    return lines.order_by("-pk")[:MOST_CHANGES]


def touches(line: ChangeRecord, name: str) -> bool:
    """Return whether a line of the change log set another value."""
    return line.before is None or line.before.get(name) != (line.after or {}).get(name)


def _add_before(case: Case, sensor: Sensor, signal: Signal) -> Case:
    """Add the value before a signal: that of the last change with a smaller time and id."""
    try:
        events = read_events([sensor.pk], Period(end=signal.at + 1), types=[STATE_CHANGED], limit=MOST_AROUND)
    except HistoryAway:
        return replace(case, before=Before(None, is_known=False), reach=Reach.AWAY)
    key = (signal.at, signal.id)
    last = next((each for each in events if (each.at, str(each.payload["signal_id"])) < key), None)
    if last is not None:
        return replace(case, before=Before(int(last.payload["data"]), since=last))
    # A first signal is an event itself; without one before it, this one was overtaken, or that one has expired.
    return replace(case, before=Before(None, is_known=not settings.HISTORY_RETENTION_MONTHS))


def _add_silence(case: Case, sensor: Sensor) -> Case:
    case = replace(case, outage=_find_outage(case.at), is_applied=_is_applied(case.at))
    if case.reach != Reach.WHOLE:
        return case
    try:
        earlier = get_store().read_signals([sensor.pk], Period(end=to_milliseconds(case.at)), limit=1)
    except HistoryAway:
        return replace(case, reach=Reach.AWAY)
    return replace(case, seen_at=from_milliseconds(earlier[0].received_at) if earlier else None)


def _find_outage(at: datetime) -> Outage | None:
    """Return an outage of our own side around a time; its times are steady ones, shown by the database's clock."""
    clock.look()
    ahead = clock.ahead
    begin, end = at - NEAR + ahead, at + NEAR + ahead
    span = DeafSpan.objects.filter(to_at__gte=begin, from_at__lte=end).order_by("to_at").first()
    if span is not None:
        return Outage(span.from_at - ahead, span.to_at - ahead)
    ways_in = WayIn.objects.all() if settings.AMQP_URL else WayIn.objects.exclude(pk=WayIn.QUEUE)
    silent = ways_in.filter(heard_at__lt=min(end, clock.now() - UNKNOWN_AFTER)).order_by("heard_at").first()
    return None if silent is None else Outage(silent.heard_at - ahead, None)


def _is_applied(at: datetime) -> bool:
    """Return whether everything that was sent by then is known to be applied."""
    mark = watermark()
    if mark is None:
        # Since then nothing is proven: no consumer is there, or none has ever been.
        queue = WayIn.objects.filter(pk=WayIn.QUEUE).first()
        mark = None if queue is None else queue.proven_from
    return mark is not None and at + clock.ahead <= mark


def _add_delivery(case: Case, sensor: Sensor, client: Client, event: PastEvent) -> Case:
    recorded_at, now = from_milliseconds(event.recorded_at), case.now
    delivery = _find_delivery(sensor.pk, client.endpoint_id, event)
    case = replace(
        case,
        are_deliveries_kept=recorded_at >= now - timedelta(days=settings.DELIVERY_DAYS),
        receiver=read_receiver(client.endpoint, client),
    )
    if delivery is None:
        told_at = None if case.are_deliveries_kept else _find_told_at(sensor.pk, client.endpoint_id, event)
        return replace(case, link=_find_link_then(sensor, client, recorded_at, now=now), told_at=told_at)
    muted_until = None
    if delivery.reason in (SENSOR_MUTED, CLIENT_MUTED):
        muted_until = _find_mute(sensor, client, delivery.reason, recorded_at)
    return replace(case, sent=read_sent(delivery), muted_until=muted_until)


def read_sent(delivery: Delivery) -> Sent:
    """Return a delivery with its newest attempts and what it waits for."""
    attempts = attempts_of([delivery.pk], since=delivery.created_at).order_by("-pk")[:MOST_ATTEMPTS]
    return Sent(delivery, tuple(attempts), _find_older(delivery))


def _find_delivery(sensor_id: str, endpoint_id: int, event: PastEvent) -> Delivery | None:
    """Return the last delivery that told this event, or was to tell it."""
    subject, at = subject_of(sensor_id), format_time(from_milliseconds(event.at))
    rows = Delivery.objects.filter(correlation_id=event.correlation_id, endpoint=endpoint_id, subject=subject)
    rows = rows.filter(type=event.type, body__at=at).order_by()
    if event.type == STATE_CHANGED:
        return _newest(rows.filter(body__data=event.payload["data"])[:MOST_AROUND])
    own = _newest(rows[:MOST_AROUND])
    if own is not None and own.reason not in (SENSOR_MUTED, CLIENT_MUTED):
        return own
    # A list has the correlation id of its first sensor; a loss that a mute withheld is told later, by one of its own.
    found = _find_lists(sensor_id, endpoint_id, event)
    if own is not None:
        later = Delivery.objects.filter(subject=subject, pk__gt=own.pk).order_by("pk")[:MOST_LATER]
        found += [row for row in later if (row.endpoint_id, row.type, row.body["at"]) == (endpoint_id, event.type, at)]
    return _newest(found) or own


def _newest(rows: Iterable[Delivery]) -> Delivery | None:
    # Not by the database: to find the newest of a few it might walk the whole table from its end.
    return max(rows, key=lambda row: row.pk, default=None)


_LISTS = {CONNECTION_LOST: "sensor.connections_lost", CONNECTION_RESTORED: "sensor.connections_restored"}


def _find_lists(sensor_id: str, endpoint_id: int, event: PastEvent) -> list[Delivery]:
    listed = ListedSubject.objects.filter(subject=subject_of(sensor_id), endpoint=endpoint_id)
    newest = listed.order_by("-delivery_id").values_list("delivery_id", flat=True)[:MOST_LISTS]
    rows = Delivery.objects.filter(pk__in=list(newest), type=_LISTS.get(event.type, ""))
    name = "last_seen_at" if event.type == CONNECTION_LOST else "lost_at"

    def tells(entry: dict[str, Any]) -> bool:
        return entry.get("sensor_id") == sensor_id and entry.get(name) == event.payload.get(name)

    return [row for row in rows if any(map(tells, row.body.get("sensors", ())))]


def _find_older(delivery: Delivery) -> int | None:
    """Return an older delivery that must end before this one is sent."""
    if delivery.status != Delivery.Status.PENDING:
        return None
    key = {"endpoint": delivery.endpoint_id, "subject": delivery.subject}
    older = Delivery.objects.filter(**key, family=delivery.family, status=Delivery.Status.PENDING)
    giving_way = older.filter(superseded_by__isnull=False, pk__lt=delivery.pk).values_list("pk", flat=True).first()
    if giving_way is not None or delivery.family != Delivery.Family.CONNECTION:
        return giving_way
    lists = ListedSubject.objects.filter(**key, is_open=True, delivery_id__lt=delivery.pk)
    return lists.values_list("delivery_id", flat=True).first()


def _find_told_at(sensor_id: str, endpoint_id: int, event: PastEvent) -> datetime | None:
    """Return when history has a successful attempt of a delivery that has expired."""
    begin = from_milliseconds(event.recorded_at) - timedelta(seconds=1)
    period = Period(to_milliseconds(begin), to_milliseconds(begin + HISTORY_OF_ATTEMPTS))
    try:
        attempts = read_attempts([sensor_id], period, limit=1000)
    except HistoryAway:
        return None
    told = [
        attempt.at
        for attempt in attempts
        if (attempt.endpoint, attempt.type, attempt.correlation_id) == (endpoint_id, event.type, event.correlation_id)
        and is_success(attempt.status)
    ]
    return from_milliseconds(min(told)) if told else None


def _find_link_then(sensor: Sensor, client: Client, at: datetime, *, now: datetime) -> LinkThen:
    try:
        is_linked = _is_linked(client, _read_sensor_values(sensor, at))
        if is_linked:
            is_linked = _is_linked(client, _read_sensor_values(sensor, min(at + LINK_SETTLES, now)))
    except NotRegisteredThen:
        return LinkThen(False)
    except BeforeRecords:
        return LinkThen(None)
    lines = _list_changes("sensor", sensor.pk, at)
    sides = ((line.at, _is_linked(client, line.before), _is_linked(client, line.after)) for line in lines)
    return LinkThen(is_linked, next((changed_at for changed_at, before, after in sides if before != after), None))


def _is_linked(client: Client, values: Values | None) -> bool:
    return values is not None and client.pk in values["clients"]


def _find_mute(sensor: Sensor, client: Client, reason: str, at: datetime) -> datetime | None:
    try:
        if reason == SENSOR_MUTED:
            values = _read_sensor_values(sensor, at)
        else:
            present = {"muted_until": _text(client.muted_until)}
            values = get_values_at("client", str(client.pk), at, present=present, created_at=client.created_at)
    except (NotRegisteredThen, BeforeRecords):
        return None
    return parse_time(values["muted_until"]) if values["muted_until"] else None


def read_receiver(endpoint: Endpoint, client: Client | None) -> Receiver:
    """Return whether an endpoint can be sent to; one that is no client's belongs to an operator."""
    return Receiver(
        is_active=endpoint.active and (client is None or client.active),
        is_paused=endpoint.paused,
        paused_at=None
        if client is None or not endpoint.paused
        else _find_change("client", str(client.pk), "paused", before=timezone.now()),
        opened_at=endpoint.opened_at,
        probe_at=endpoint.probe_at,
        not_before=endpoint.not_before,
    )
