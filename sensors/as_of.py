"""Sensors, clients and their links as they were at an earlier time: settings by the change log, states by history."""

from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from django.utils import timezone
from django.utils.translation import gettext

from config.audit.as_of import BeforeRecords, get_values_at, records_begin
from config.common.database.sql import load_sql
from config.common.errors import Invalid
from config.common.times import MILLISECOND, format_time, parse_time, truncate_to_milliseconds
from config.records.models import ChangeRecord
from sensors.errors import ClientNotFound
from sensors.heartbeat.clock import clock
from sensors.heartbeat.ingest_liveness import UNKNOWN_AFTER
from sensors.history.as_of import PastState
from sensors.models import DeafSpan, LinkRecord, Sensor, SensorClient
from sensors.selectors import Connection, check_sensor, clients_of, connection_of, get_client

AHEAD = timedelta(minutes=1)
"""A caller's clock may be ahead of ours by so much: what it calls now is no future."""
MOST_CHANGES = 1000


@dataclass(frozen=True)
class PastSensor:
    """The settings of a sensor at a time."""

    id: str
    at: datetime
    address: str
    notes: str
    active: bool
    heartbeat_timeout: int
    open_limit: int | None
    muted_until: datetime | None
    clients: list[int]

    def connection(self, state: PastState) -> Connection:
        if not state.is_known:
            return Connection.UNKNOWN
        return connection_of(
            active=self.active,
            seen=state.seen_at is not None,
            lost=state.lost_at is not None,
            outage=_was_outage(self.at),
        )


@dataclass(frozen=True)
class PastClient:
    """The settings of a client at a time."""

    id: int
    at: datetime
    name: str
    url: str
    active: bool
    paused: bool
    muted_until: datetime | None


@dataclass(frozen=True)
class PastLink:
    """Whether a client was linked with a sensor at a time, and since when; None: since before the records begin."""

    sensor_id: str
    client_id: int
    at: datetime
    is_linked: bool
    since: datetime | None
    actor: str


def check_past(at: datetime) -> datetime:
    """Return a time that is not to come, in milliseconds; raise `Invalid` for another."""
    if at > timezone.now() + AHEAD:
        raise Invalid({"at": [gettext("Must not be in the future.")]})
    return truncate_to_milliseconds(at)


def get_sensor_at(sensor_id: str, at: datetime, *, owner: int | None = None) -> PastSensor:
    """Return the settings and links of a sensor at a time; a client (`owner`) sees itself alone among its clients."""
    check_sensor(sensor_id, owner=owner)
    sensor = Sensor.objects.get(pk=sensor_id)
    present = {
        field.name: getattr(sensor, field.name) for field in fields(PastSensor) if field.name not in ("at", "clients")
    }
    present["clients"] = clients_of([sensor_id]).get(sensor_id, [])
    values = get_values_at("sensor", sensor_id, at, present=present, created_at=sensor.created_at)
    clients = [pk for pk in values["clients"] if owner is None or pk == owner]
    known = {name: values.get(name) for name in present} | {"id": sensor_id, "clients": clients}
    return PastSensor(at=at, **_with_time(known))


def get_client_at(client_id: int, at: datetime) -> PastClient:
    client = get_client(client_id)
    endpoint = client.endpoint
    present = {
        "name": client.name,
        "url": endpoint.url,
        "active": client.active and endpoint.active,
        "paused": endpoint.paused,
        "muted_until": client.muted_until,
    }
    values = get_values_at("client", str(client_id), at, present=present, created_at=client.created_at)
    return PastClient(id=client_id, at=at, **_with_time({name: values.get(name) for name in present}))


def get_link_at(sensor_id: str, client_id: int, at: datetime, *, owner: int | None = None) -> PastLink:
    """Return whether a client was linked with a sensor at a time, and who had linked or unlinked them.

    A client (`owner`) learns of no sensor that it was never linked with, not even that there is one.
    """
    if owner is not None and owner != client_id:
        raise ClientNotFound
    get_client(client_id)
    if owner is None or not LinkRecord.objects.filter(client_id=owner, sensor_id=sensor_id).exists():
        check_sensor(sensor_id, owner=owner)
    is_linked = client_id in get_sensor_at(sensor_id, at).clients
    lines = ChangeRecord.objects.filter(kind="sensor", object_id=sensor_id, at__lt=at + MILLISECOND)
    rows = lines.order_by("-pk").values_list("at", "actor", "before", "after")
    for changed_at, actor, before, after in rows[:MOST_CHANGES]:
        sides = [client_id in (side or {}).get("clients", ()) for side in (before, after)]
        if sides[0] != sides[1]:
            return PastLink(sensor_id, client_id, at, is_linked, changed_at, actor if owner is None else "")
    return PastLink(sensor_id, client_id, at, is_linked, None, "")


def sensors_of_client_at(client_id: int, at: datetime, *, limit: int, after: str = "") -> tuple[list[str], int]:
    """Return some of the sensors that a client had at a time, those behind an id, and how many it had in all."""
    begin = records_begin()
    if at < begin:
        raise BeforeRecords(records_begin=format_time(begin))
    since = at + MILLISECOND
    if not LinkRecord.objects.filter(client_id=client_id, at__gte=since).exists():
        links = SensorClient.objects.filter(client_id=client_id)
        page = links.filter(sensor_id__gt=after).order_by("sensor_id").values_list("sensor_id", flat=True)
        return list(page[:limit]), links.count()
    values = {"client": client_id, "since": connection.ops.adapt_datetimefield_value(since)}
    with connection.cursor() as cursor:
        cursor.execute(load_sql("sensors", "sensors_of_client_at"), {**values, "after": after, "limit": limit})
        rows = cursor.fetchall()
    return [sensor_id for sensor_id, _ in rows if sensor_id is not None], rows[0][1]


def _with_time(values: dict[str, Any]) -> dict[str, Any]:
    """Return values with the mute as a time: the change log has it as text."""
    until = values["muted_until"]
    return values | {"muted_until": parse_time(until) if isinstance(until, str) else until}


def _was_outage(at: datetime) -> bool:
    """Return whether a time lies in an outage of our own that was long enough to be shown."""
    steady = at + clock.ahead
    spans = DeafSpan.objects.filter(to_at__gt=steady, from_at__lte=steady).values_list("from_at", "to_at")
    return any(end - begin > UNKNOWN_AFTER for begin, end in spans)
