"""Register, move, rename, deactivate and reactivate devices, and rotate their keys."""

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
    new = strip_name(DeviceValues(**values))
    device_id = new_party_id() if device_id is None else device_id
    with transaction.atomic():
        DEVICE.insert(device_id, new, actor=actor)
        return make_party_key(AccessKey.Kind.DEVICE, device_id, actor=actor)


def update_device(*, device_id: str, actor: str, **edits: Unpack[DeviceEdits]) -> None:
    DEVICE.update(device_id, edits, actor=actor)


def deactivate_device(*, device_id: str, actor: str) -> None:
    """Refuse the keys of a device from now on; its messages stay."""
    update_device(device_id=device_id, actor=actor, active=False)


def rotate_device_key(*, device_id: str, actor: str) -> NewKey:
    """Return a new key of a device; all older ones end at once."""
    with transaction.atomic():
        DEVICE.lock(device_id)
        return replace_party_keys(AccessKey.Kind.DEVICE, device_id, actor=actor)


class DeviceKind(PartyKind[Device, DeviceValues]):
    name = "device"
    model = Device
    values = DeviceValues
    missing = DeviceNotFound
    taken = DeviceExists
    rival = Rival(ExchangeDatabase, DatabaseExists)

    def values_of(self, row: Device) -> DeviceValues:
        return DeviceValues(
            enterprise=row.subsystem.enterprise_id, subsystem=row.subsystem_id, name=row.name, active=row.active
        )

    def faults_of(self, new: DeviceValues, before: DeviceValues | None) -> Faults:
        was = "" if before is None else before.enterprise
        enterprise = enterprise_faults(new.enterprise, was=was)
        if enterprise:  # to say more of the subsystem would only confuse
            return enterprise | name_faults(new.name)
        subsystem = SUBSYSTEM.find_locked(new.subsystem)  # locked, so that it is not deleted meanwhile
        return subsystem_faults(subsystem, enterprise_id=new.enterprise) | name_faults(new.name)

    def assign(self, row: Device, new: DeviceValues) -> None:
        row.subsystem_id, row.name, row.active = new.subsystem, new.name, new.active


DEVICE = DeviceKind()
DEVICE.track()
