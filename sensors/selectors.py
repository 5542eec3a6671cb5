"""Reads of the registry: whom a key belongs to, which sensors match a filter, the state of each."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection, models
from django.db.models import CharField, Count, Exists, Func, OuterRef, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from config.common.database.sql import in_array, load_sql
from sensors.errors import ClientNotFound, SensorNotFound
from sensors.heartbeat.ingest_liveness import is_outage
from sensors.models import Client, OpenDoor, Sensor, SensorClient, SensorState

LINK_BYTES = 8
"""What one client of a sensor takes in an answer: its number and a comma."""


class Connection(models.TextChoices):
    """The connection of a sensor; `unknown` during an outage on our own side, and for one that is not active."""

    ONLINE = "online", _("online")
    LOST = "lost", _("lost")
    NEVER_SEEN = "never_seen", _("never seen")
    UNKNOWN = "unknown", _("unknown")


@dataclass(frozen=True)
class SensorFilter:
    search: str = ""
    """Part of an id, of an address or of a client's name."""
    client: int | None = None
    connection: Connection | None = None
    state: int | None = None
    active: bool | None = None
    owner: int | None = None
    """The client that asks: it sees its own sensors alone, and nothing of other clients."""


class SensorRow(NamedTuple):
    """One sensor with its state, read without building objects; times are text, as the contract writes them."""

    id: str
    address: str
    notes: str
    active: bool
    heartbeat_timeout: int
    open_limit: int | None
    muted_until: str | None
    state: int | None
    state_changed_at: str | None
    last_seen_at: str | None
    lost_at: str | None


class TimeText(Func):
    """A time as the contract writes it: inside the database that costs a third of formatting it here."""

    output_field = CharField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> Any:
        form = """'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'"""
        text = f"to_char(%(expressions)s AT TIME ZONE 'UTC', {form})"
        return self.as_sql(compiler, connection, template=text, **context)

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """SQLite has the column as text in UTC, its fraction missing where it is zero."""
        time = "%(expressions)s"
        whole, fraction = f"substr({time}, 1, 10) || 'T' || substr({time}, 12, 8)", f"substr({time}, 21) || '000'"
        text = f"{whole} || '.' || substr({fraction}, 1, 3) || 'Z'"
        return self.as_sql(compiler, connection, template=text, **context)


def find_client(subject: str) -> Client | None:
    """Return the client that a key belongs to, by the subject of the key."""
    is_id = subject.isascii() and subject.isdigit() and 0 < int(subject[:19]) < 2**63 and len(subject) < 20
    return Client.objects.filter(pk=int(subject)).first() if is_id else None


def get_client(client_id: int) -> Client:
    client = Client.objects.select_related("endpoint").filter(pk=client_id).first() if client_id < 2**63 else None
    if client is None:
        raise ClientNotFound
    return client


def matching_sensors(chosen: SensorFilter) -> QuerySet[Sensor]:
    sensors = Sensor.objects.all()
    for client_id in (chosen.client, chosen.owner):
        if client_id is not None:
            sensors = sensors.filter(Exists(SensorClient.objects.filter(sensor=OuterRef("pk"), client=client_id)))
    if chosen.search:
        sensors = sensors.filter(matching_text(chosen.search, with_clients=chosen.owner is None))
    if chosen.state is not None:
        sensors = sensors.filter(state__value=chosen.state)
    if chosen.active is not None:
        sensors = sensors.filter(active=chosen.active)
    return (
        sensors if chosen.connection is None else sensors.filter(with_connection(chosen.connection, outage=is_outage()))
    )


def matching_text(text: str, *, with_clients: bool = True) -> Q:
    found = Q(id__icontains=text) | Q(address__icontains=text)
    if not with_clients:
        return found
    return found | Q(Exists(SensorClient.objects.filter(sensor=OuterRef("pk"), client__name__icontains=text)))


def with_connection(connection: Connection, *, outage: bool) -> Q:
    """Return the condition of the sensors whose `connection_of` is this."""
    if connection == Connection.NEVER_SEEN:
        return Q(state__seen_at__isnull=True)
    if connection == Connection.LOST:
        return Q(state__lost_at__isnull=False)
    heard = Q(state__seen_at__isnull=False, state__lost_at__isnull=True)
    if connection == Connection.ONLINE:
        return Q(pk__in=[]) if outage else heard & Q(active=True)
    return heard if outage else heard & Q(active=False)


def connection_of(*, active: bool, seen: bool, lost: bool, outage: bool) -> Connection:
    """Return the connection of a sensor; a loss that was found before an outage stays a loss."""
    if not seen:
        return Connection.NEVER_SEEN
    if lost:
        return Connection.LOST
    return Connection.UNKNOWN if outage or not active else Connection.ONLINE


@dataclass(frozen=True)
class FleetTally:
    """All sensors by what is known of them."""

    total: int
    seen: int
    lost: int
    inactive: int
    """Those that were seen and are not lost, but are switched off."""
    open: int
    closed: int


def count_fleet() -> FleetTally:
    """Count all sensors. It reads every state row, so it is for who counts seldom and once for many readers."""
    states = SensorState.objects.order_by()
    found = states.aggregate(
        total=Count("pk"),
        seen=Count("seen_at"),
        lost=Count("lost_at"),
        open=Count("pk", filter=Q(value=1)),
        closed=Count("pk", filter=Q(value=0)),
    )
    quiet = states.filter(sensor__active=False, seen_at__isnull=False, lost_at__isnull=True)
    return FleetTally(**found, inactive=quiet.count())


def sensor_rows(sensors: QuerySet[Sensor]) -> "QuerySet[Sensor, Any]":
    """Return the columns of a `SensorRow`, in its order; the id keeps its name, by which pages are cut."""
    return sensors.annotate(
        muted_until_text=TimeText("muted_until"),
        changed_at_text=TimeText("state__changed_at"),
        seen_at_text=TimeText("state__seen_at"),
        lost_at_text=TimeText("state__lost_at"),
    ).values_list(
        "id",
        "address",
        "notes",
        "active",
        "heartbeat_timeout",
        "open_limit",
        "muted_until_text",
        "state__value",
        "changed_at_text",
        "seen_at_text",
        "lost_at_text",
        named=True,
    )


def get_sensor_row(sensor_id: str, *, owner: int | None = None) -> SensorRow:
    row = sensor_rows(matching_sensors(SensorFilter(owner=owner)).filter(pk=sensor_id)).first()
    if row is None:
        raise SensorNotFound
    return SensorRow(*row)


def check_sensor(sensor_id: str, *, owner: int | None = None) -> None:
    """Raise `SensorNotFound` unless the sensor is there, and is the client's own where one asks."""
    with connection.cursor() as cursor:
        cursor.execute(load_sql("sensors", "find_sensor"), {"sensor": sensor_id, "owner": owner})
        if cursor.fetchone() is None:
            raise SensorNotFound


def clients_of(sensor_ids: Collection[str], *, owner: int | None = None) -> dict[str, list[int]]:
    """Return the ids of the clients of each sensor, sorted; a client (`owner`) sees only itself."""
    if owner is not None:
        return {sensor_id: [owner] for sensor_id in sensor_ids}
    found: dict[str, list[int]] = defaultdict(list)
    links = SensorClient.objects.filter(sensor_id__in=in_array(sensor_ids))
    # Sorted here: with an ORDER BY, SQLite would walk the links of all sensors in order of client.
    for sensor_id, client_id in sorted(links.values_list("sensor_id", "client_id")):
        found[sensor_id].append(client_id)
    return found


def weigh_clients(rows: Sequence[Any]) -> list[int]:
    """Return about how many bytes the clients of rows of sensors take in an answer."""
    return weigh_links([row.id for row in rows], SensorClient.objects.all())


def weigh_links(sensor_ids: Sequence[str], links: QuerySet[Any]) -> list[int]:
    """Return about how many bytes the clients of each sensor take in an answer, without reading them."""
    counted = links.filter(sensor_id__in=in_array(sensor_ids, alias=links.db)).order_by().values_list("sensor_id")
    found = dict(counted.annotate(Count("client_id")))
    return [LINK_BYTES * found.get(sensor_id, 0) for sensor_id in sensor_ids]


def left_open_doors(now: datetime, *, client_id: int | None = None) -> QuerySet[OpenDoor]:
    """Return the doors that have been open for longer than they may be, those first that have been so for longest."""
    doors = OpenDoor.objects.filter(limit_at__lte=now).select_related("sensor").order_by("limit_at", "pk")
    return doors if client_id is None else doors.filter(Exists(_link(client_id)))


def longest_lost(*, client_id: int | None = None) -> QuerySet[SensorState]:
    """Return the sensors whose connection is lost, those first that have been lost for longest."""
    states = SensorState.objects.filter(lost_at__isnull=False).select_related("sensor").order_by("lost_at", "pk")
    return states if client_id is None else states.filter(Exists(_link(client_id)))


def _link(client_id: int) -> QuerySet[SensorClient]:
    return SensorClient.objects.filter(sensor=OuterRef("pk"), client=client_id)
