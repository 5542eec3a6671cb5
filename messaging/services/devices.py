"""Register, move, rename, deactivate and reactivate devices, and replace their keys."""

from typing import Unpack

from django.db import transaction

from config.records.models import AccessKey
from messaging.errors import DatabaseExists, DeviceExists, DeviceNotFound
from messaging.models import Device, ExchangeDatabase
from messaging.services.party_keys import NewKey, make_party_key, replace_party_keys
from messaging.services.party_kind import PartyKind, Rival, new_party_id, strip_name
from messaging.services.party_rules import Faults, enterprise_faults, name_faults, subsystem_faults
from messaging.services.party_values import DeviceEdits, DeviceValues
from messaging.services.subsystems import SUBSYSTEM


def create_device(*, device_id: str | None = None, actor: str, **values: Unpack[DeviceEdits]) -> NewKey:
    """Register a device under an id that no database has; return its key, which is shown this once."""
    wanted = strip_name(DeviceValues(**values))
    device_id = new_party_id() if device_id is None else device_id
    with transaction.atomic():
        DEVICE.insert(device_id, wanted, actor=actor)
        return make_party_key(AccessKey.Kind.DEVICE, device_id, actor=actor)


def update_device(*, device_id: str, actor: str, **edits: Unpack[DeviceEdits]) -> None:
    DEVICE.update(device_id, edits, actor=actor)


def deactivate_device(*, device_id: str, actor: str) -> None:
    """Refuse its keys; its messages stay."""
    update_device(device_id=device_id, actor=actor, active=False)


def rotate_device_key(*, device_id: str, actor: str) -> NewKey:
    """Make a new key; all older ones end at once."""
    with transaction.atomic():
        DEVICE.hold(device_id)
        return replace_party_keys(AccessKey.Kind.DEVICE, device_id, actor=actor)


def _values_of(device: Device) -> DeviceValues:
    return DeviceValues(
        enterprise=device.subsystem.enterprise_id,
        subsystem=device.subsystem_id,
        name=device.name,
        active=device.active,
    )


def _faults_of(wanted: DeviceValues, before: DeviceValues | None) -> Faults:
    was = "" if before is None else before.enterprise
    enterprise = enterprise_faults(wanted.enterprise, was=was)
    if enterprise:  # to say more of the subsystem would only confuse
        return enterprise | name_faults(wanted.name)
    subsystem = SUBSYSTEM.find_held(wanted.subsystem)  # held, so that it is not deleted meanwhile
    return subsystem_faults(subsystem, enterprise_id=wanted.enterprise) | name_faults(wanted.name)


def _assign(device: Device, wanted: DeviceValues) -> None:
    device.subsystem_id, device.name, device.active = wanted.subsystem, wanted.name, wanted.active


DEVICE = PartyKind(
    name="device",
    model=Device,
    values=DeviceValues,
    values_of=_values_of,
    faults_of=_faults_of,
    assign=_assign,
    missing=DeviceNotFound,
    taken=DeviceExists,
    rival=Rival(ExchangeDatabase, DatabaseExists),
)
DEVICE.track()
