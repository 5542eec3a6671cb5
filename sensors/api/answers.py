"""Sensors and clients as REST shows them: structs that encode themselves, made from plain rows."""

from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec

from config.common.times import format_time
from sensors.heartbeat.ingest_liveness import is_outage
from sensors.models import Client
from sensors.selectors import SensorRow, clients_of, connection_of
from sensors.services.clients import values_of


class SensorAnswer(msgspec.Struct):
    id: str
    address: str
    notes: str
    active: bool
    heartbeat_timeout: int
    muted_until: str | None
    clients: list[int]
    state: int | None
    state_changed_at: str | None
    last_seen_at: str | None
    connection: str


class ClientAnswer(msgspec.Struct, omit_defaults=True):
    id: int
    name: str
    url: str
    active: bool
    paused: bool
    muted_until: str | None
    secret: str = ""
    """Only in the answer to the call that made the client."""


def present_sensors(rows: Sequence[SensorRow], *, owner: int | None = None) -> list[SensorAnswer]:
    clients = clients_of([row[0] for row in rows], owner=owner)
    deaf = is_outage()
    return list(_sensors(rows, clients, deaf))


def present_client(client: Client, *, secret: str = "") -> ClientAnswer:
    values = values_of(client)
    muted_until = _time(values.muted_until)
    return ClientAnswer(client.pk, values.name, values.url, values.active, values.paused, muted_until, secret)


def _sensors(rows: Iterable[SensorRow], clients: dict[str, list[int]], deaf: bool) -> Iterable[SensorAnswer]:
    for pk, address, notes, active, timeout, muted_until, state, changed_at, seen_at, lost_at in rows:
        connection = connection_of(active=active, seen=seen_at is not None, lost=lost_at is not None, deaf=deaf)
        yield SensorAnswer(
            pk,
            address,
            notes,
            active,
            timeout,
            muted_until,
            clients.get(pk, []),
            state,
            changed_at,
            seen_at,
            connection.value,
        )


def _time(moment: datetime | None) -> str | None:
    return None if moment is None else format_time(moment)
