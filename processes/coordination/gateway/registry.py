"""Changes of the sensor registry through the Gateway: by the registry's own services, as one event."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from config.common.errors import ApplicationError, Invalid
from processes.coordination.errors import RowNotFound
from processes.coordination.schema.entities import SENSOR, Op
from processes.coordination.writer.change_sets import RequestedChange
from processes.coordination.writer.registry import collect_into_one_event
from sensors.errors import ClientNotFound, SensorNotFound
from sensors.services.clients import create_client, deactivate_client, update_client
from sensors.services.sensors import create_sensor, deactivate_sensor, update_sensor


@dataclass(frozen=True)
class RegistryChangeResult:
    ids: list[Any]
    event: int | None
    """None where nothing has changed."""
    secrets: list[str] = field(default_factory=list)
    """Of clients that are new: shown this once."""


def change_registry(wanted: Sequence[RequestedChange], *, actor: str) -> RegistryChangeResult:
    """Make all of these changes, or none."""
    ids: list[Any] = []
    secrets: list[str] = []
    with transaction.atomic():
        with collect_into_one_event() as collected:
            for each in wanted:
                try:
                    ids.append(_change(each, actor, secrets))
                except Invalid as error:
                    raise Invalid(_placed(each, error.data["fields"])) from error
                except (SensorNotFound, ClientNotFound) as error:
                    raise _missing(each) from error
        return RegistryChangeResult(ids, collected.event, secrets)


def _change(wanted: RequestedChange, actor: str, secrets: list[str]) -> Any:
    change = _change_sensor if wanted.entity is SENSOR else _change_client
    return change(wanted, actor, secrets)


def _change_sensor(wanted: RequestedChange, actor: str, secrets: list[str]) -> str:
    fields = dict(wanted.fields)
    sensor_id = str(fields.pop("id", None) or wanted.id)
    if wanted.op == Op.INSERT:
        create_sensor(sensor_id=sensor_id, actor=actor, **fields)
    elif wanted.op == Op.UPDATE:
        update_sensor(sensor_id=sensor_id, actor=actor, **fields)
    else:
        deactivate_sensor(sensor_id=sensor_id, actor=actor)
    return sensor_id


def _change_client(wanted: RequestedChange, actor: str, secrets: list[str]) -> int:
    if wanted.op == Op.INSERT:
        made = create_client(actor=actor, **wanted.fields)
        secrets.append(made.text)
        return made.client_id
    client_id = int(wanted.id or 0)
    if wanted.op == Op.UPDATE:
        update_client(client_id=client_id, actor=actor, **wanted.fields)
    else:
        deactivate_client(client_id=client_id, actor=actor)
    return client_id


def _placed(wanted: RequestedChange, fields: dict[str, list[str]]) -> dict[str, list[str]]:
    return {".".join(filter(None, (wanted.path, name))): rules for name, rules in fields.items()}


def _missing(wanted: RequestedChange) -> ApplicationError:
    """A single change of what is not there is not found; within a set it is a fault of the set."""
    if not wanted.path:
        return RowNotFound()
    return Invalid({f"{wanted.path}.id": [RowNotFound().message]})
