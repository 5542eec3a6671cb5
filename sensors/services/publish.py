"""Publish what happened to sensors: an event in the outbox, and a delivery for each client of the sensor.

Runs inside the transaction that makes the events true, while the state rows are locked: the lock keeps the events and
deliveries of one sensor in the order in which they happened.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_noop

from config.common.correlation import new_correlation_id
from config.common.database.sql import bulk_execute, in_array, in_number_array
from config.common.times import format_time, from_milliseconds
from notifications.models import Delivery
from notifications.services.deliveries import NewDelivery, enqueue_deliveries
from notifications.services.events import NewEvent, record_events
from sensors.events import (
    CONNECTION_LOST,
    CONNECTION_RESTORED,
    LEFT_OPEN,
    LOSS_WITHDRAWN,
    STATE_CHANGED,
    ConnectionLost,
    ConnectionRestored,
    LeftOpen,
    LossWithdrawn,
    SensorEvent,
    StateChanged,
)
from sensors.models import Client, Sensor, SensorClient
from sensors.services.open_doors import follow_doors
from sensors.subjects import subject_of

CLIENT_INACTIVE = gettext_noop("the client is inactive")
LOSS_WITHHELD = gettext_noop("the client was not notified of the loss")
SENSOR_MUTED = gettext_noop("the sensor is muted")
CLIENT_MUTED = gettext_noop("the client is muted")
LIST_FROM = 5
"""So many losses or restores for one client at once are sent as one list."""
LONGEST_LIST = 200


@dataclass(frozen=True)
class OutgoingEvent:
    """An event with what its outbox row and its deliveries have in common."""

    event: SensorEvent
    type: str
    family: Delivery.Family
    at: datetime
    fields: dict[str, Any]
    correlation_id: str


@dataclass(frozen=True)
class Subscriber:
    """A client of a sensor, with its link to it."""

    link_id: int
    endpoint_id: int
    muted_until: datetime | None
    is_off: bool
    is_loss_untold: bool
    tell_at: datetime | None

    def is_muted(self, at: datetime) -> bool:
        return self.muted_until is not None and at < self.muted_until


def publish_sensor_events(events: Sequence[SensorEvent], *, now: datetime) -> None:
    """Record the events in the outbox and enqueue their deliveries, in the order given."""
    if not events:
        return
    columns = Sensor.objects.only("id", "address", "muted_until", "open_limit")
    sensors = columns.in_bulk({each.sensor_id for each in events})
    outgoing = [_prepare(each) for each in events]
    subscribers = _find_subscribers(events, now)
    record_events(_outbox_row(each, sensors[each.event.sensor_id], now) for each in outgoing)
    enqueue_deliveries(list(_deliveries(outgoing, sensors, subscribers, now)))
    _record_withheld(events, sensors, subscribers, now)
    limits = {pk: sensor.open_limit for pk, sensor in sensors.items() if sensor.open_limit is not None}
    if limits:
        follow_doors(((each.event, each.correlation_id) for each in outgoing), limits)


def enqueue_withheld_losses(lost: Sequence[ConnectionLost], *, now: datetime) -> None:
    """Enqueue losses for the clients whose mute has ended; for those still muted, record until when.

    The outbox has had the event since the connection was lost. Call it while the state rows are locked.
    """
    sensors = Sensor.objects.only("id", "address", "muted_until").in_bulk([each.sensor_id for each in lost])
    due = {
        sensor_id: [each for each in found if each.tell_at is not None and each.tell_at <= now]
        for sensor_id, found in _find_subscribers(lost, now).items()
    }
    unmuted = {
        sensor_id: [each for each in found if not _find_mute_end(sensors[sensor_id], each, now)]
        for sensor_id, found in due.items()
    }
    enqueue_deliveries(list(_deliveries([_prepare(each) for each in lost], sensors, unmuted, now)))
    _record_withheld(lost, sensors, due, now)


def write_withheld(rows: Sequence[tuple[bool, datetime | None, int]]) -> None:
    """Set `is_loss_untold` and `tell_at` of links, given with their ids."""
    if rows:
        # Locked in order of id by all who write links, so that no two wait for each other in a circle.
        links = SensorClient.objects.filter(pk__in=in_number_array([pk for _, _, pk in rows]))
        list(links.select_for_update(no_key=True).order_by("pk").values_list("pk"))
        bulk_execute("sensors", "write_withheld", rows)


def _prepare(event: SensorEvent) -> OutgoingEvent:
    """Return an event with its type, family and fields; one without a correlation id begins a chain of its own."""
    kind = _TYPES[type(event)]
    family = _FAMILIES.get(kind, Delivery.Family.CONNECTION)
    chain = event.correlation_id or new_correlation_id()
    return OutgoingEvent(event, kind, family, from_milliseconds(event.at), _fields(event), chain)


_TYPES = {
    StateChanged: STATE_CHANGED,
    ConnectionLost: CONNECTION_LOST,
    ConnectionRestored: CONNECTION_RESTORED,
    LossWithdrawn: LOSS_WITHDRAWN,
    LeftOpen: LEFT_OPEN,
}
_FAMILIES = {STATE_CHANGED: Delivery.Family.STATE, LEFT_OPEN: Delivery.Family.OPEN}


def _fields(event: SensorEvent) -> dict[str, Any]:
    match event:
        case StateChanged():
            return {"data": event.data, "previous": event.previous}
        case ConnectionLost():
            return {"last_seen_at": _text(event.last_seen_at)}
        case ConnectionRestored():
            lost_at, downtime = _text(event.lost_at), event.downtime_seconds
            return {"data": event.data, "lost_at": lost_at, "downtime_seconds": downtime}
        case LossWithdrawn():
            return {"lost_at": _text(event.lost_at)}
        case LeftOpen():
            return {"data": 1, "opened_at": _text(event.opened_at), "limit_seconds": event.limit_seconds}


def _text(at: int) -> str:
    return format_time(from_milliseconds(at))


def _find_subscribers(events: Sequence[SensorEvent], now: datetime) -> dict[str, list[Subscriber]]:
    """Return the clients of each sensor, inactive ones too: their deliveries are recorded as cancelled."""
    sensor_ids = {each.sensor_id for each in events}
    links = SensorClient.objects.filter(sensor_id__in=in_array(sensor_ids))
    if any(isinstance(each, ConnectionLost) for each in events):
        # Without this lock, a mute that is lifted right now would miss the loss it withholds.
        muted = Client.objects.filter(pk__in=links.values("client"), muted_until__gt=now)
        list(muted.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    found: dict[str, list[Subscriber]] = defaultdict(list)
    for sensor_id, link_id, endpoint_id, muted_until, is_on, is_endpoint_on, untold, tell_at in links.order_by(
        "client_id"
    ).values_list(
        "sensor_id",
        "pk",
        "client__endpoint_id",
        "client__muted_until",
        "client__active",
        "client__endpoint__active",
        "is_loss_untold",
        "tell_at",
    ):
        is_off = not (is_on and is_endpoint_on)
        found[sensor_id].append(Subscriber(link_id, endpoint_id, muted_until, is_off, untold, tell_at))
    return found


def _outbox_row(outgoing: OutgoingEvent, sensor: Sensor, now: datetime) -> NewEvent:
    payload = {"sensor_id": sensor.id, "address": sensor.address, **outgoing.fields}
    if isinstance(outgoing.event, StateChanged):
        payload["signal_id"] = outgoing.event.signal_id
    if isinstance(outgoing.event, ConnectionLost) and sensor.is_muted(now):
        payload["muted"] = True
    return NewEvent(outgoing.type, subject_of(sensor.id), outgoing.at, payload, outgoing.correlation_id)


def _deliveries(
    outgoing: Sequence[OutgoingEvent],
    sensors: dict[str, Sensor],
    subscribers: dict[str, list[Subscriber]],
    now: datetime,
) -> Iterable[NewDelivery]:
    """Yield the deliveries of each client; many losses or restores for one client at once become lists."""
    grouped: dict[tuple[int, str], list[OutgoingEvent]] = defaultdict(list)
    for each in outgoing:
        sensor = sensors[each.event.sensor_id]
        for subscriber in subscribers.get(sensor.id, []):
            withheld = _withhold_reason(each.event, sensor, subscriber, now)
            if withheld or subscriber.is_off:
                yield _single(each, sensor, subscriber.endpoint_id, withheld or CLIENT_INACTIVE, bool(withheld))
            elif isinstance(each.event, ConnectionLost | ConnectionRestored):
                grouped[subscriber.endpoint_id, each.type].append(each)
            else:
                yield _single(each, sensor, subscriber.endpoint_id)
    for (endpoint_id, _), group in grouped.items():
        yield from _group_deliveries(group, sensors, endpoint_id, now)


def _withhold_reason(event: SensorEvent, sensor: Sensor, subscriber: Subscriber, now: datetime) -> str:
    """Return why a client is not notified: a mute, or the end of a loss that it was never notified of."""
    match event:
        case StateChanged():
            return ""
        case ConnectionLost():
            if sensor.is_muted(now):
                return SENSOR_MUTED
            return CLIENT_MUTED if subscriber.is_muted(now) else ""
        case LeftOpen():
            return CLIENT_MUTED if subscriber.is_muted(now) else ""
        case _:
            return LOSS_WITHHELD if subscriber.is_loss_untold else ""


def _group_deliveries(
    group: list[OutgoingEvent], sensors: dict[str, Sensor], endpoint_id: int, now: datetime
) -> Iterable[NewDelivery]:
    if len(group) < LIST_FROM:
        yield from (_single(each, sensors[each.event.sensor_id], endpoint_id) for each in group)
        return
    for start in range(0, len(group), LONGEST_LIST):
        yield _list(group[start : start + LONGEST_LIST], sensors, endpoint_id, now)


def _single(
    outgoing: OutgoingEvent, sensor: Sensor, endpoint_id: int, withheld: str = "", for_good: bool = False
) -> NewDelivery:
    named = {"sensor_id": sensor.id, "address": sensor.address}
    body = {"version": 1, "type": outgoing.type, **named, **outgoing.fields, "at": format_time(outgoing.at)}
    return NewDelivery(
        endpoint_id,
        outgoing.type,
        outgoing.family,
        subject_of(sensor.id),
        body,
        outgoing.correlation_id,
        withheld=withheld,
        for_good=for_good,
    )


def _list(group: list[OutgoingEvent], sensors: dict[str, Sensor], endpoint_id: int, now: datetime) -> NewDelivery:
    kind = {CONNECTION_LOST: "sensor.connections_lost"}.get(group[0].type, "sensor.connections_restored")
    entries = [
        {"sensor_id": sensor.id, "address": sensor.address, **each.fields}
        for each in group
        for sensor in [sensors[each.event.sensor_id]]
    ]
    body = {"version": 1, "type": kind, "at": format_time(now), "sensors": entries}
    listed = tuple(dict.fromkeys(subject_of(each.event.sensor_id) for each in group))
    return NewDelivery(endpoint_id, kind, Delivery.Family.LIST, "", body, group[0].correlation_id, listed=listed)


def _record_withheld(
    events: Sequence[SensorEvent], sensors: dict[str, Sensor], subscribers: dict[str, list[Subscriber]], now: datetime
) -> None:
    """Record which clients a mute kept from a loss, and until when; the end of the loss clears that."""
    rows: list[tuple[bool, datetime | None, int]] = []
    for each in events:
        if isinstance(each, StateChanged | LeftOpen):
            continue
        for subscriber in subscribers.get(each.sensor_id, []):
            is_lost = isinstance(each, ConnectionLost)
            tell_at = _find_mute_end(sensors[each.sensor_id], subscriber, now) if is_lost else None
            if (tell_at is not None, tell_at) != (subscriber.is_loss_untold, subscriber.tell_at):
                rows.append((tell_at is not None, tell_at, subscriber.link_id))
    write_withheld(rows)


def _find_mute_end(sensor: Sensor, subscriber: Subscriber, now: datetime) -> datetime | None:
    """Return when the mutes of a sensor and its client have ended, or None where neither is muted now."""
    ends = [end for end in (sensor.muted_until, subscriber.muted_until) if end is not None and now < end]
    return max(ends, default=None)
