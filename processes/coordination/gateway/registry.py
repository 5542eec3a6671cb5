"""Changes of the sensor registry through the Gateway: by the registry's own services, as one event."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from config.common.errors import Invalid
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
    """The secrets of new clients, which are shown this once."""


def change_registry(requests: Sequence[RequestedChange], *, actor: str) -> RegistryChangeResult:
    """Make all of these changes as one event, or none."""
    ids: list[Any] = []
    secrets: list[str] = []
    change: Callable[[RequestedChange, str, list[str]], Any]
    with transaction.atomic():
        with collect_into_one_event() as collected:
            for request in requests:
                try:
                    change = _change_sensor if request.entity is SENSOR else _change_client
                    ids.append(change(request, actor, secrets))
                except Invalid as error:
                    faults = error.data["fields"].items()
                    raise Invalid(
                        {".".join(filter(None, (request.path, name))): rules for name, rules in faults}
                    ) from error
                except (SensorNotFound, ClientNotFound) as error:
                    if not request.path:  # the call is about this one row
                        raise RowNotFound from error
                    raise Invalid({f"{request.path}.id": [RowNotFound().message]}) from error
        return RegistryChangeResult(ids, collected.event, secrets)


def _change_sensor(request: RequestedChange, actor: str, secrets: list[str]) -> str:
    fields = dict(request.fields)
    sensor_id = str(fields.pop("id", None) or request.id)
    if request.op == Op.INSERT:
        create_sensor(sensor_id=sensor_id, actor=actor, **fields)
    elif request.op == Op.UPDATE:
        update_sensor(sensor_id=sensor_id, actor=actor, **fields)
    else:
        deactivate_sensor(sensor_id=sensor_id, actor=actor)
    return sensor_id


def _change_client(request: RequestedChange, actor: str, secrets: list[str]) -> int:
    if request.op == Op.INSERT:
        made = create_client(actor=actor, **request.fields)
        secrets.append(made.text)
        return made.client_id
    client_id = int(request.id or 0)
    if request.op == Op.UPDATE:
        update_client(client_id=client_id, actor=actor, **request.fields)
    else:
        deactivate_client(client_id=client_id, actor=actor)
    return client_id
