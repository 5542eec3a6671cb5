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
    wanted = strip_name(SubsystemValues(**values))
    subsystem_id = new_party_id() if subsystem_id is None else subsystem_id
    with transaction.atomic():
        SUBSYSTEM.insert(subsystem_id, wanted, actor=actor)
    return subsystem_id


def update_subsystem(*, subsystem_id: str, actor: str, **edits: Unpack[SubsystemEdits]) -> None:
    SUBSYSTEM.update(subsystem_id, edits, actor=actor)


def delete_subsystem(*, subsystem_id: str, actor: str) -> None:
    """Delete a subsystem that nothing refers to."""
    with transaction.atomic():
        _delete(SUBSYSTEM.hold(subsystem_id), actor=actor)


def _delete(subsystem: Subsystem, *, actor: str) -> None:
    """Whoever puts a device into it holds its row first; messages come from devices."""
    # Asked first: Django would read all that refers to it before refusing.
    if any(model.objects.filter(subsystem=subsystem.pk).exists() for model in (Device, Message)):
        raise SubsystemInUse
    before, subsystem_id = _values_of(subsystem), subsystem.pk
    subsystem.delete()
    SUBSYSTEM.tell(subsystem_id, before, None, actor=actor)


def _values_of(subsystem: Subsystem) -> SubsystemValues:
    return SubsystemValues(enterprise=subsystem.enterprise_id, name=subsystem.name)


def _faults_of(wanted: SubsystemValues, before: SubsystemValues | None) -> Faults:
    was = "" if before is None else before.enterprise
    return enterprise_faults(wanted.enterprise, was=was) | name_faults(wanted.name)


def _assign(subsystem: Subsystem, wanted: SubsystemValues) -> None:
    subsystem.enterprise_id, subsystem.name = wanted.enterprise, wanted.name


def _restore(subsystem_id: str, values: Values | None, actor: str) -> None:
    """Put values back: a registration is taken back by deletion, a deletion by registration."""
    subsystem = SUBSYSTEM.find_held(subsystem_id)
    if values is None:
        if subsystem is None:
            raise NotRevertible
        _delete(subsystem, actor=actor)
        return
    wanted = SubsystemValues(**values)
    if subsystem is None:
        SUBSYSTEM.insert(subsystem_id, wanted, actor=actor)
    elif not SUBSYSTEM.write(subsystem, wanted, actor=actor):
        raise NotRevertible


SUBSYSTEM = PartyKind(
    name="subsystem",
    model=Subsystem,
    values=SubsystemValues,
    values_of=_values_of,
    faults_of=_faults_of,
    assign=_assign,
    missing=SubsystemNotFound,
    taken=SubsystemExists,
)
SUBSYSTEM.track(_restore)
