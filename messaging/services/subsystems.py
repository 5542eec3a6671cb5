"""Register, rename and delete subsystems."""

from typing import Unpack

from django.db import transaction

from config.audit.changes import NotRevertible, Values
from messaging.errors import SubsystemExists, SubsystemInUse, SubsystemNotFound
from messaging.models import Device, Message, Subsystem
from messaging.services.party_kind import PartyKind, new_party_id, strip_name
from messaging.services.party_rules import Faults, enterprise_faults, name_faults
from messaging.services.party_values import SubsystemEdits, SubsystemValues


def create_subsystem(*, subsystem_id: str | None = None, actor: str, **values: Unpack[SubsystemEdits]) -> str:
    """Register a subsystem of an enterprise; return its id, which is made when none is given."""
    new = strip_name(SubsystemValues(**values))
    subsystem_id = new_party_id() if subsystem_id is None else subsystem_id
    with transaction.atomic():
        SUBSYSTEM.insert(subsystem_id, new, actor=actor)
    return subsystem_id


def update_subsystem(*, subsystem_id: str, actor: str, **edits: Unpack[SubsystemEdits]) -> None:
    SUBSYSTEM.update(subsystem_id, edits, actor=actor)


def delete_subsystem(*, subsystem_id: str, actor: str) -> None:
    """Delete a subsystem that nothing refers to."""
    with transaction.atomic():
        SUBSYSTEM.delete(SUBSYSTEM.lock(subsystem_id), actor=actor)


class SubsystemKind(PartyKind[Subsystem, SubsystemValues]):
    name = "subsystem"
    model = Subsystem
    values = SubsystemValues
    missing = SubsystemNotFound
    taken = SubsystemExists

    def values_of(self, row: Subsystem) -> SubsystemValues:
        return SubsystemValues(enterprise=row.enterprise_id, name=row.name)

    def faults_of(self, new: SubsystemValues, before: SubsystemValues | None) -> Faults:
        was = "" if before is None else before.enterprise
        return enterprise_faults(new.enterprise, was=was) | name_faults(new.name)

    def assign(self, row: Subsystem, new: SubsystemValues) -> None:
        row.enterprise_id, row.name = new.enterprise, new.name

    def delete(self, row: Subsystem, *, actor: str) -> None:
        """Delete and record a locked subsystem.

        Whoever puts a device into it locks its row first, and messages come from devices: nothing is added meanwhile.
        """
        # Asked first: Django would read all that refers to it before refusing.
        if any(model.objects.filter(subsystem=row.pk).exists() for model in (Device, Message)):
            raise SubsystemInUse
        before, subsystem_id = self.values_of(row), row.pk
        row.delete()
        self.record(subsystem_id, before, None, actor=actor)

    def restore(self, party_id: str, values: Values | None, actor: str) -> None:
        """Restore the values of the change log: a registration is reverted by deletion, a deletion by registration."""
        subsystem = self.find_locked(party_id)
        if values is None:
            if subsystem is None:
                raise NotRevertible
            self.delete(subsystem, actor=actor)
            return
        new = SubsystemValues(**values)
        if subsystem is None:
            self.insert(party_id, new, actor=actor)
        elif not self.write(subsystem, new, actor=actor):
            raise NotRevertible


SUBSYSTEM = SubsystemKind()
SUBSYSTEM.track()
