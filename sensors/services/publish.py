"""Tell what happened to sensors: an event for each fact, and to every active client the message it is owed.

Runs inside the transaction that made the facts true, while the state rows are locked.
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
from sensors.events import ConnectionLost, ConnectionRestored, LossWithdrawn, SensorEvent, StateChanged
from sensors.models import Client, Sensor, SensorClient
from sensors.subjects import subject_of

CLIENT_INACTIVE = gettext_noop("the client is inactive")
LOSS_UNTOLD = gettext_noop("the client was not told of the loss")
LIST_FROM = 5
LONGEST_LIST = 200


@dataclass(frozen=True)
class OutgoingEvent:
    """A fact with the words for it."""

    happening: SensorEvent
    type: str
    family: Delivery.Family
    at: datetime
    words: dict[str, Any]
    correlation_id: str


@dataclass(frozen=True)
class Subscriber:
    """A client of a sensor."""

    link_id: int
    endpoint_id: int
    muted_until: datetime | None
    is_off: bool
    is_loss_untold: bool
    tell_at: datetime | None

    def is_muted(self, at: datetime) -> bool:
        return self.muted_until is not None and at < self.muted_until


def publish_sensor_events(happened: Sequence[SensorEvent], *, now: datetime) -> None:
    """Write the events and the deliveries of what happened, in its order."""
    if not happened:
        return
    sensors = Sensor.objects.only("id", "address", "muted_until").in_bulk({each.sensor_id for each in happened})
    told = [_word(each) for each in happened]
    listeners = _listeners(happened, now)
    record_events(_fact(each, sensors[each.happening.sensor_id], now) for each in told)
    enqueue_deliveries(list(_messages(told, sensors, listeners, now)))
    _record_untold(happened, sensors, listeners, now)


def enqueue_withheld_losses(lost: Sequence[ConnectionLost], *, now: datetime) -> None:
    """Tell of standing losses the clients whose mute has ended; of those who are muted still, note until when.

    The event was written when the connection was lost. Call it while the state rows are locked.
    """
    sensors = Sensor.objects.only("id", "address", "muted_until").in_bulk([each.sensor_id for each in lost])
    due = {
        sensor_id: [each for each in found if each.tell_at is not None and each.tell_at <= now]
        for sensor_id, found in _listeners(lost, now).items()
    }
    open_to = {
        sensor_id: [each for each in found if not _mute_end(sensors[sensor_id], each, now)]
        for sensor_id, found in due.items()
    }
    enqueue_deliveries(list(_messages([_word(each) for each in lost], sensors, open_to, now)))
    _record_untold(lost, sensors, due, now)


def _listeners(happened: Sequence[SensorEvent], now: datetime) -> dict[str, list[Subscriber]]:
    """Return the clients of each sensor; what one that is off would be told waits for it, as cancelled."""
    sensor_ids = {each.sensor_id for each in happened}
    links = SensorClient.objects.filter(sensor_id__in=in_array(sensor_ids))
    if any(isinstance(each, ConnectionLost) for each in happened):
        # Whoever lifts a mute at this moment must find the loss that it withholds.
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


def _record_untold(
    happened: Sequence[SensorEvent], sensors: dict[str, Sensor], listeners: dict[str, list[Subscriber]], now: datetime
) -> None:
    """Write down who was kept from a loss, and until when; with its end there is nothing left to tell."""
    rows: list[tuple[bool, datetime | None, int]] = []
    for each in happened:
        if isinstance(each, StateChanged):
            continue
        for listener in listeners.get(each.sensor_id, []):
            is_lost = isinstance(each, ConnectionLost)
            tell_at = _mute_end(sensors[each.sensor_id], listener, now) if is_lost else None
            if (tell_at is not None, tell_at) != (listener.is_loss_untold, listener.tell_at):
                rows.append((tell_at is not None, tell_at, listener.link_id))
    write_withheld(rows)


def write_withheld(rows: Sequence[tuple[bool, datetime | None, int]]) -> None:
    """Write of links whether a loss is untold and when to tell it; locked in order of id, as everyone does."""
    if rows:
        links = SensorClient.objects.filter(pk__in=in_number_array([pk for _, _, pk in rows]))
        list(links.select_for_update(no_key=True).order_by("pk").values_list("pk"))
        bulk_execute("sensors", "write_untold", rows)


def _mute_end(sensor: Sensor, listener: Subscriber, now: datetime) -> datetime | None:
    """Return when a loss of this sensor may be told to this client, if not now."""
    ends = [end for end in (sensor.muted_until, listener.muted_until) if end is not None and now < end]
    return max(ends, default=None)


def _word(happening: SensorEvent) -> OutgoingEvent:
    """Find the words of a fact; one that came without a correlation id starts a chain of its own."""
    family = Delivery.Family.STATE if isinstance(happening, StateChanged) else Delivery.Family.CONNECTION
    chain = happening.correlation_id or new_correlation_id()
    return OutgoingEvent(
        happening, _TYPES[type(happening)], family, from_milliseconds(happening.at), _words(happening), chain
    )


_TYPES = {
    StateChanged: "sensor.state_changed",
    ConnectionLost: "sensor.connection_lost",
    ConnectionRestored: "sensor.connection_restored",
    LossWithdrawn: "sensor.loss_withdrawn",
}


def _words(happening: SensorEvent) -> dict[str, Any]:
    match happening:
        case StateChanged():
            return {"data": happening.data, "previous": happening.previous}
        case ConnectionLost():
            return {"last_seen_at": _text(happening.last_seen_at)}
        case ConnectionRestored():
            lost_at, downtime = _text(happening.lost_at), happening.downtime_seconds
            return {"data": happening.data, "lost_at": lost_at, "downtime_seconds": downtime}
        case LossWithdrawn():
            return {"lost_at": _text(happening.lost_at)}


def _text(at: int) -> str:
    return format_time(from_milliseconds(at))


def _fact(told: OutgoingEvent, sensor: Sensor, now: datetime) -> NewEvent:
    payload = {"sensor_id": sensor.id, "address": sensor.address, **told.words}
    if isinstance(told.happening, StateChanged):
        payload["signal_id"] = told.happening.signal_id
    if isinstance(told.happening, ConnectionLost) and sensor.is_muted(now):
        payload["muted"] = True
    return NewEvent(
        type=told.type, subject=subject_of(sensor.id), at=told.at, payload=payload, correlation_id=told.correlation_id
    )


def _messages(
    told: Sequence[OutgoingEvent], sensors: dict[str, Sensor], listeners: dict[str, list[Subscriber]], now: datetime
) -> Iterable[NewDelivery]:
    """Make the messages of each client; many losses or restores of one client at once become lists."""
    folded: dict[tuple[int, str], list[OutgoingEvent]] = defaultdict(list)
    for each in told:
        sensor = sensors[each.happening.sensor_id]
        for listener in listeners.get(sensor.id, []):
            kept_from = _kept_from(each.happening, sensor, listener, now)
            if kept_from or listener.is_off:
                yield _single(each, sensor, listener.endpoint_id, kept_from or CLIENT_INACTIVE, bool(kept_from))
            elif isinstance(each.happening, ConnectionLost | ConnectionRestored):
                folded[listener.endpoint_id, each.type].append(each)
            else:
                yield _single(each, sensor, listener.endpoint_id)
    for (endpoint_id, _), group in folded.items():
        yield from _fold(group, sensors, endpoint_id, now)


def _fold(
    group: list[OutgoingEvent], sensors: dict[str, Sensor], endpoint_id: int, now: datetime
) -> Iterable[NewDelivery]:
    if len(group) < LIST_FROM:
        yield from (_single(each, sensors[each.happening.sensor_id], endpoint_id) for each in group)
        return
    for start in range(0, len(group), LONGEST_LIST):
        yield _list(group[start : start + LONGEST_LIST], sensors, endpoint_id, now)


def _kept_from(happening: SensorEvent, sensor: Sensor, listener: Subscriber, now: datetime) -> str:
    """Return why this client is not told: a mute, or an end of a loss that it has not heard of."""
    match happening:
        case StateChanged():
            return ""
        case ConnectionLost():
            if sensor.is_muted(now):
                return gettext_noop("the sensor is muted")
            return gettext_noop("the client is muted") if listener.is_muted(now) else ""
        case _:
            return LOSS_UNTOLD if listener.is_loss_untold else ""


def _single(
    told: OutgoingEvent, sensor: Sensor, endpoint_id: int, withheld: str = "", for_good: bool = False
) -> NewDelivery:
    named = {"sensor_id": sensor.id, "address": sensor.address}
    body = {"version": 1, "type": told.type, **named, **told.words, "at": format_time(told.at)}
    return NewDelivery(
        endpoint_id,
        told.type,
        told.family,
        subject_of(sensor.id),
        body,
        told.correlation_id,
        withheld=withheld,
        for_good=for_good,
    )


def _list(group: list[OutgoingEvent], sensors: dict[str, Sensor], endpoint_id: int, now: datetime) -> NewDelivery:
    kind = {"sensor.connection_lost": "sensor.connections_lost"}.get(group[0].type, "sensor.connections_restored")
    entries = [
        {"sensor_id": sensor.id, "address": sensor.address, **each.words}
        for each in group
        for sensor in [sensors[each.happening.sensor_id]]
    ]
    body = {"version": 1, "type": kind, "at": format_time(now), "sensors": entries}
    listed = tuple(dict.fromkeys(subject_of(each.happening.sensor_id) for each in group))
    return NewDelivery(endpoint_id, kind, Delivery.Family.LIST, "", body, group[0].correlation_id, listed=listed)
