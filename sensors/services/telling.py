"""Tell what happened to sensors: an event for each fact, and to every active client the message it is owed.

Runs inside the transaction that made the facts true, while the state rows are locked.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from django.utils.translation import gettext_noop

from config.common.correlation import new_correlation_id
from config.common.moments import format_moment
from config.common.sql import among
from notifications.models import Delivery
from notifications.services.deliveries import Owed, owe
from notifications.services.events import Fact, record_events
from sensors.ingest.fold import ConnectionRestored, Happening, LossWithdrawn, StateChanged
from sensors.ingest.signals import moment
from sensors.models import Sensor, SensorClient

CLIENT_INACTIVE = gettext_noop("the client is inactive")
FOLD_FROM = 5
LONGEST_LIST = 200


@dataclass(frozen=True, slots=True)
class ConnectionLost:
    """Silence past the deadline, found by the sweep."""

    sensor_id: str
    at: int
    last_seen_at: int
    correlation_id: str = ""


AnyHappening: TypeAlias = Happening | ConnectionLost


@dataclass(frozen=True)
class Told:
    """A fact with the words for it."""

    happening: AnyHappening
    type: str
    family: Delivery.Family
    at: datetime
    words: dict[str, Any]
    correlation_id: str


@dataclass(frozen=True)
class Listener:
    endpoint_id: int
    muted_until: datetime | None
    is_off: bool


def subject_of(sensor_id: str) -> str:
    return f"sensor/{sensor_id}"


def tell(happened: Sequence[AnyHappening], *, now: datetime) -> None:
    """Write the events and the deliveries of what happened, in its order."""
    if not happened:
        return
    sensors = Sensor.objects.only("id", "address", "muted_until").in_bulk({each.sensor_id for each in happened})
    told = [_word(each) for each in happened]
    listeners = _listeners(sensors)
    record_events(_fact(each, sensors[each.happening.sensor_id], now) for each in told)
    owe(list(_messages(told, sensors, listeners, now)))


def _listeners(sensor_ids: Iterable[str]) -> dict[str, list[Listener]]:
    """Return the clients of each sensor; what one that is off would be told waits for it, as cancelled."""
    links = SensorClient.objects.filter(sensor_id__in=among(list(sensor_ids))).order_by("client_id")
    found: dict[str, list[Listener]] = defaultdict(list)
    for sensor_id, endpoint_id, muted_until, is_on, is_endpoint_on in links.values_list(
        "sensor_id", "client__endpoint_id", "client__muted_until", "client__active", "client__endpoint__active"
    ):
        found[sensor_id].append(Listener(endpoint_id, muted_until, not (is_on and is_endpoint_on)))
    return found


def _word(happening: AnyHappening) -> Told:
    """Find the words of a fact; one that came without a correlation id starts a chain of its own."""
    family = Delivery.Family.STATE if isinstance(happening, StateChanged) else Delivery.Family.CONNECTION
    chain = happening.correlation_id or new_correlation_id()
    return Told(happening, _TYPES[type(happening)], family, moment(happening.at), _words(happening), chain)


_TYPES = {
    StateChanged: "sensor.state_changed",
    ConnectionLost: "sensor.connection_lost",
    ConnectionRestored: "sensor.connection_restored",
    LossWithdrawn: "sensor.loss_withdrawn",
}


def _words(happening: AnyHappening) -> dict[str, Any]:
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
    return format_moment(moment(at))


def _fact(told: Told, sensor: Sensor, now: datetime) -> Fact:
    payload = {"sensor_id": sensor.id, "address": sensor.address, **told.words}
    if isinstance(told.happening, StateChanged):
        payload["signal_id"] = told.happening.signal_id
    if isinstance(told.happening, ConnectionLost) and sensor.is_muted(now):
        payload["muted"] = True
    return Fact(
        type=told.type, subject=subject_of(sensor.id), at=told.at, payload=payload, correlation_id=told.correlation_id
    )


def _messages(
    told: Sequence[Told], sensors: dict[str, Sensor], listeners: dict[str, list[Listener]], now: datetime
) -> Iterable[Owed]:
    """Make the messages of each client; many losses or restores of one client at once become lists."""
    folded: dict[tuple[Listener, str], list[Told]] = defaultdict(list)
    for each in told:
        for listener in listeners.get(each.happening.sensor_id, []):
            if isinstance(each.happening, ConnectionLost | ConnectionRestored) and not listener.is_off:
                folded[listener, each.type].append(each)
            else:
                yield _single(each, sensors, listener, now)
    for (listener, _), group in folded.items():
        yield from _fold(group, sensors, listener, now)


def _fold(group: list[Told], sensors: dict[str, Sensor], listener: Listener, now: datetime) -> Iterable[Owed]:
    loud = [each for each in group if not _muted(each, sensors, listener, now)]
    if len(loud) < FOLD_FROM:
        yield from (_single(each, sensors, listener, now) for each in group)
        return
    yield from (_single(each, sensors, listener, now) for each in group if each not in loud)
    for start in range(0, len(loud), LONGEST_LIST):
        yield _list(loud[start : start + LONGEST_LIST], sensors, listener, now)


def _muted(told: Told, sensors: dict[str, Sensor], listener: Listener, now: datetime) -> str:
    if not isinstance(told.happening, ConnectionLost):
        return ""
    if sensors[told.happening.sensor_id].is_muted(now):
        return gettext_noop("the sensor is muted")
    if listener.muted_until is not None and now < listener.muted_until:
        return gettext_noop("the client is muted")
    return ""


def _single(told: Told, sensors: dict[str, Sensor], listener: Listener, now: datetime) -> Owed:
    sensor = sensors[told.happening.sensor_id]
    named = {"sensor_id": sensor.id, "address": sensor.address}
    body = {"version": 1, "type": told.type, **named, **told.words, "at": format_moment(told.at)}
    muted = _muted(told, sensors, listener, now)
    return Owed(
        listener.endpoint_id,
        told.type,
        told.family,
        subject_of(sensor.id),
        body,
        told.correlation_id,
        withheld=muted or (CLIENT_INACTIVE if listener.is_off else ""),
        for_good=bool(muted),
    )


def _list(group: list[Told], sensors: dict[str, Sensor], listener: Listener, now: datetime) -> Owed:
    kind = {"sensor.connection_lost": "sensor.connections_lost"}.get(group[0].type, "sensor.connections_restored")
    entries = [
        {"sensor_id": sensor.id, "address": sensor.address, **each.words}
        for each in group
        for sensor in [sensors[each.happening.sensor_id]]
    ]
    body = {"version": 1, "type": kind, "at": format_moment(now), "sensors": entries}
    listed = tuple(dict.fromkeys(subject_of(each.happening.sensor_id) for each in group))
    return Owed(listener.endpoint_id, kind, Delivery.Family.LIST, "", body, group[0].correlation_id, listed=listed)
