"""Rows of the entities as the Gateway shows them: the Writer's, and a reader's from its own database."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from django.db.models import F

from processes.coordination.errors import ReaderNotFound
from processes.coordination.models import writer
from processes.coordination.reader import models as reader
from processes.coordination.schema.entities import CLIENT, SENSOR, Entity
from processes.coordination.schema.routing import reader_alias, reader_names
from sensors.models import Client, Sensor, SensorClient
from sensors.selectors import weigh_links

Rows: TypeAlias = Any
"""Rows as dictionaries, of whichever table."""


def get_reader_alias(name: str) -> str:
    """Return the database of a reader."""
    if name not in reader_names():
        raise ReaderNotFound
    return reader_alias(name)


def writer_rows(entity: Entity) -> Rows:
    if entity is SENSOR:
        return Sensor.objects.values("id", *_names(entity))
    if entity is CLIENT:
        columns = {"url": F("endpoint__url"), "paused": F("endpoint__paused")}
        return Client.objects.values("id", "name", "active", "muted_until", **columns)
    return writer.TABLES[entity.name].objects.values("id", *_names(entity))


def reader_rows(entity: Entity, *, alias: str) -> Rows:
    return reader.TABLES[entity.name].objects.using(alias).values("id", *_names(entity))


def present_rows(entity: Entity, rows: Sequence[dict[str, Any]], *, alias: str = "") -> list[dict[str, Any]]:
    """Return rows as the calls show them; a sensor with the clients that are notified of it."""
    shown = [{"id": row["id"], **{name: row[name] for name in _names(entity)}} for row in rows]
    if entity is SENSOR:
        clients = _clients([row["id"] for row in rows], alias)
        for row in shown:
            row["clients"] = clients[row["id"]]
    return shown


def weigh_beside(entity: Entity, *, alias: str = "") -> Callable[[Sequence[dict[str, Any]]], list[int]] | None:
    """Return what weighs that which `present_rows` shows beside the columns of rows, where it shows more."""
    if entity is not SENSOR:
        return None
    return lambda rows: weigh_links([row["id"] for row in rows], _links(alias))


def _names(entity: Entity) -> list[str]:
    return [column.name for column in entity.columns]


def _clients(sensors: list[str], alias: str) -> dict[str, list[int]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    rows = _links(alias).filter(sensor_id__in=sensors).order_by("client_id")
    for sensor, client in rows.values_list("sensor_id", "client_id"):
        found[sensor].append(client)
    return found


def _links(alias: str) -> Any:
    return reader.TABLES["SensorLink"].objects.using(alias).all() if alias else SensorClient.objects.all()
