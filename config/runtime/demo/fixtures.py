"""The registered parties of the demonstration, with new keys at every start."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone

from config.access.keys import create_key, end_key
from config.records.models import AccessKey
from messaging.models import Device, Enterprise, ExchangeDatabase, Subsystem
from messaging.services.databases import create_database, rotate_database_key
from messaging.services.devices import create_device, rotate_device_key
from messaging.services.enterprises import create_enterprise
from messaging.services.subsystems import create_subsystem
from processes.coordination.models import DummyNode
from processes.coordination.schema.entities import DUMMY_NODE, Op
from processes.coordination.writer.change_sets import RequestedChange, apply_change_set
from processes.workflows.examples import publish_examples
from sensors.models import Client, Sensor
from sensors.services.clients import create_client, update_client
from sensors.services.sensors import create_sensor
from sensors.simulation.fleet import Fleet

ACTOR = "demo"
ENTERPRISE, DATABASE, CLIENT = "demo", "demo-erp", "Demo guard desk"
SUBSYSTEMS = {"demo-sales": "Sales agents", "demo-stock": "Stock takers"}
DEVICES = 6
SENSORS = 60


@dataclass(frozen=True)
class Fixtures:
    signals_key: str
    database_key: str
    device_keys: dict[str, str]


def create_fixtures(hook_url: str) -> Fixtures:
    """Register what is missing; return new keys for all parties."""
    _register_fleet(_register_client(hook_url))
    _build_tree()
    publish_examples(actor=ACTOR, at=timezone.now())
    if not Enterprise.objects.filter(pk=ENTERPRISE).exists():
        create_enterprise(enterprise_id=ENTERPRISE, name="Demo Trading", actor=ACTOR)
    for subsystem_id, name in SUBSYSTEMS.items():
        if not Subsystem.objects.filter(pk=subsystem_id).exists():
            create_subsystem(subsystem_id=subsystem_id, enterprise=ENTERPRISE, name=name, actor=ACTOR)
    for key in AccessKey.objects.filter(name=ACTOR, kind=AccessKey.Kind.SERVICE, ended_at=None):
        end_key(key=key, actor=ACTOR)
    _key, signals_key = create_key(name=ACTOR, actor=ACTOR, scopes=["signals:write"])
    device_keys = {f"demo-phone-{number}": _device_key(number) for number in range(1, DEVICES + 1)}
    return Fixtures(signals_key, _database_key(), device_keys)


def _register_client(hook_url: str) -> int:
    client = Client.objects.filter(name=CLIENT).first()
    if client is None:
        return create_client(name=CLIENT, url=hook_url, actor=ACTOR).client_id
    update_client(client_id=client.pk, url=hook_url, actor=ACTOR)
    return client.pk


def _register_fleet(client_id: int) -> None:
    sensor_ids = Fleet(SENSORS, seed=1).sensor_ids
    there = set(Sensor.objects.filter(pk__in=sensor_ids).values_list("pk", flat=True))
    for number, sensor_id in enumerate(sensor_ids):
        if sensor_id not in there:
            address = f"{number % 12 + 1} Demo Street, door {number // 12 + 1}"
            clients = [client_id] if number % 3 == 0 else []
            create_sensor(sensor_id=sensor_id, address=address, heartbeat_timeout=120, clients=clients, actor=ACTOR)


def _build_tree() -> None:
    """Write a small tree through the Writer, whose change sets go to the reader when the product serves."""
    if DummyNode.objects.exists():
        return
    now = timezone.now()
    (house,) = _insert([{"name": "Demo house", "parent": None}], at=now)
    floors = _insert([{"name": f"Floor {floor}", "parent": house} for floor in range(1, 4)], at=now)
    _insert([{"name": f"Door {door}", "parent": floor} for floor in floors for door in range(1, 5)], at=now)
    apply_change_set([RequestedChange(DUMMY_NODE, Op.UPDATE, house, {"name": "Demo house, 1 Demo Street"})], at=now)


def _insert(rows: list[dict[str, Any]], *, at: datetime) -> list[int]:
    return apply_change_set([RequestedChange(DUMMY_NODE, Op.INSERT, fields=fields) for fields in rows], at=at).ids


def _database_key() -> str:
    if ExchangeDatabase.objects.filter(pk=DATABASE).exists():
        return rotate_database_key(database_id=DATABASE, actor=ACTOR).text
    return create_database(database_id=DATABASE, enterprise=ENTERPRISE, name="Demo ERP", actor=ACTOR).text


def _device_key(number: int) -> str:
    device_id = f"demo-phone-{number}"
    if Device.objects.filter(pk=device_id).exists():
        return rotate_device_key(device_id=device_id, actor=ACTOR).text
    subsystem = sorted(SUBSYSTEMS)[number % len(SUBSYSTEMS)]
    made = create_device(
        device_id=device_id, enterprise=ENTERPRISE, subsystem=subsystem, name=f"Phone {number}", actor=ACTOR
    )
    return made.text
