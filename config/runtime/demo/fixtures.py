"""The registered parties of the demonstration, with new keys at every start."""

import json
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import Group, User
from django.utils import timezone

from config.access.keys import create_key, end_key
from config.access.scopes import Scope
from config.records.models import AccessKey
from config.runtime.demo.receiver import FAILING, HEALTHY, RECOVERING
from messaging.models import Device, Enterprise, ExchangeDatabase, Subsystem
from messaging.services.databases import create_database, rotate_database_key
from messaging.services.devices import create_device, rotate_device_key
from messaging.services.enterprises import create_enterprise
from messaging.services.subsystems import create_subsystem
from notifications.models import Rung, Theme
from notifications.services.ladder import save_rung
from notifications.sessions.themes import create_theme, update_theme
from processes.coordination.models import DummyNode
from processes.coordination.schema.entities import DUMMY_NODE, Op
from processes.coordination.writer.change_sets import RequestedChange, apply_change_set
from processes.workflows.examples import publish_examples
from sensors.models import Client, Sensor
from sensors.services.clients import create_client, update_client
from sensors.services.sensors import create_sensor, mute_sensors
from sensors.simulation.fleet import Fleet

ACTOR = "demo"
ENTERPRISE = "demo"
DATABASE, BRANCH, DEPOT = "demo-erp", "demo-branch-erp", "demo-depot-erp"
"""An ERP that works, one that falls silent, and one whose files somebody deletes."""
DATABASES = {DATABASE: "Demo ERP", BRANCH: "Branch ERP", DEPOT: "Depot ERP"}
CLIENTS = {"Demo guard desk": HEALTHY, "Demo patrol": RECOVERING, "Demo archive": FAILING}
SUBSYSTEMS = {"demo-sales": "Sales agents", "demo-stock": "Stock takers"}
VAN = "demo-phone-1"
DEVICES = 6
SENSORS = 60
FLAPPING = "demoFlap"
SILENT = ("demoSilent1", "demoSilent2", "demoSilent3")
LEFT_OPEN_SECONDS = 20
"""After so long two doors of the fleet are left open, so that soon one of them is."""
MUTED_FOR = timedelta(hours=8)
THEME = 77
DUTY = {0: "desk@demo.example", 20: "duty@demo.example", 40: "manager@demo.example"}
"""Who is told of an alert, after so many seconds without an acknowledgement."""


@dataclass(frozen=True)
class Fixtures:
    signals_key: str
    operator_key: str
    device_keys: dict[str, str]
    database_keys: dict[str, str]

    def to_text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> "Fixtures":
        return cls(**json.loads(text))


def create_fixtures(receiver_url: str) -> Fixtures:
    """Register what is missing; return new keys for all parties."""
    _register_fleet([_register_client(name, receiver_url + path) for name, path in CLIENTS.items()])
    _build_tree()
    # Alerts go from one person to the next within a minute.
    for seconds, address in DUTY.items():
        if not Rung.objects.filter(addresses=address).exists():
            save_rung(Rung(after_seconds=seconds, channel=Rung.Channel.EMAIL, addresses=address), actor=ACTOR)
    _register_people()
    _register_theme(receiver_url + FAILING)
    publish_examples(actor=ACTOR, at=timezone.now())
    if not Enterprise.objects.filter(pk=ENTERPRISE).exists():
        create_enterprise(enterprise_id=ENTERPRISE, name="Demo Trading", actor=ACTOR)
    for subsystem_id, name in SUBSYSTEMS.items():
        if not Subsystem.objects.filter(pk=subsystem_id).exists():
            create_subsystem(subsystem_id=subsystem_id, enterprise=ENTERPRISE, name=name, actor=ACTOR)
    for key in AccessKey.objects.filter(name=ACTOR, kind=AccessKey.Kind.SERVICE, ended_at=None):
        end_key(key=key, actor=ACTOR)
    _key, signals_key = create_key(name=ACTOR, actor=ACTOR, scopes=["signals:write"])
    _key, operator_key = create_key(name=ACTOR, actor=ACTOR, scopes=[scope.value for scope in Scope])
    device_keys = {f"demo-phone-{number}": _device_key(number) for number in range(1, DEVICES + 1)}
    return Fixtures(signals_key, operator_key, device_keys, {each: _database_key(each) for each in DATABASES})


def _register_client(name: str, url: str) -> int:
    client = Client.objects.filter(name=name).first()
    if client is None:
        return create_client(name=name, url=url, actor=ACTOR).client_id
    update_client(client_id=client.pk, url=url, actor=ACTOR)
    return client.pk


def _register_fleet(client_ids: list[int]) -> None:
    """Register the fleet, one door that comes and goes, and three that are heard once."""
    there = set(Sensor.objects.values_list("pk", flat=True))
    fleet = Fleet(SENSORS, seed=1).sensor_ids
    for number, sensor_id in enumerate([*fleet, FLAPPING, *SILENT]):
        if sensor_id in there:
            continue
        address = f"{number % 12 + 1} Demo Street, door {number // 12 + 1}"
        clients = [client_ids[number // 3 % len(client_ids)]] if number % 3 == 0 else []
        if sensor_id == FLAPPING or sensor_id in SILENT:
            clients = client_ids[:2]
        timeout = 1 if sensor_id == FLAPPING else 10 if sensor_id in SILENT else 120
        create_sensor(
            sensor_id=sensor_id,
            address=address,
            heartbeat_timeout=timeout,
            open_limit=LEFT_OPEN_SECONDS if sensor_id in fleet[:2] else None,
            clients=clients,
            actor=ACTOR,
        )
    now = timezone.now()
    if not Sensor.objects.filter(muted_until__gt=now).exists():
        mute_sensors(sensor_ids=fleet[-1:], until=now + MUTED_FOR, actor=ACTOR)


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


def _register_people() -> None:
    for group in ("viewer", "operator", "registrar"):
        person, is_new = User.objects.get_or_create(username=f"demo-{group}", defaults={"is_staff": True})
        if is_new:
            person.set_unusable_password()
            person.save(update_fields=["password"])
            person.groups.add(Group.objects.get(name=group))


def _register_theme(url: str) -> None:
    if Theme.objects.filter(pk=THEME).exists():
        update_theme(number=THEME, url=url, actor=ACTOR)
    else:
        create_theme(number=THEME, url=url, delay=5, repeat_limit=2, timeout=10, actor=ACTOR)


def _database_key(database_id: str) -> str:
    if ExchangeDatabase.objects.filter(pk=database_id).exists():
        return rotate_database_key(database_id=database_id, actor=ACTOR).text
    name = DATABASES[database_id]
    return create_database(database_id=database_id, enterprise=ENTERPRISE, name=name, actor=ACTOR).text


def _device_key(number: int) -> str:
    device_id = f"demo-phone-{number}"
    if Device.objects.filter(pk=device_id).exists():
        return rotate_device_key(device_id=device_id, actor=ACTOR).text
    subsystem = sorted(SUBSYSTEMS)[number % len(SUBSYSTEMS)]
    made = create_device(
        device_id=device_id, enterprise=ENTERPRISE, subsystem=subsystem, name=f"Phone {number}", actor=ACTOR
    )
    return made.text
