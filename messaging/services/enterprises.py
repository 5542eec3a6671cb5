"""Register, rename, deactivate and reactivate enterprises."""

from typing import Unpack

from django.db import transaction

from messaging.errors import EnterpriseExists, EnterpriseNotFound
from messaging.models import Enterprise
from messaging.services.party_kind import PartyKind, new_party_id, strip_name
from messaging.services.party_rules import Faults, name_faults
from messaging.services.party_values import EnterpriseEdits, EnterpriseValues


def create_enterprise(*, enterprise_id: str | None = None, actor: str, **values: Unpack[EnterpriseEdits]) -> str:
    """Register an enterprise; return its id, which is made when none is given."""
    new = strip_name(EnterpriseValues(**values))
    enterprise_id = new_party_id() if enterprise_id is None else enterprise_id
    with transaction.atomic():
        ENTERPRISE.insert(enterprise_id, new, actor=actor)
    return enterprise_id


def update_enterprise(*, enterprise_id: str, actor: str, **edits: Unpack[EnterpriseEdits]) -> None:
    ENTERPRISE.update(enterprise_id, edits, actor=actor)


def deactivate_enterprise(*, enterprise_id: str, actor: str) -> None:
    """Refuse the keys of all devices and databases of an enterprise; nothing is deleted."""
    update_enterprise(enterprise_id=enterprise_id, actor=actor, active=False)


class EnterpriseKind(PartyKind[Enterprise, EnterpriseValues]):
    name = "enterprise"
    model = Enterprise
    values = EnterpriseValues
    missing = EnterpriseNotFound
    taken = EnterpriseExists

    def values_of(self, row: Enterprise) -> EnterpriseValues:
        return EnterpriseValues(name=row.name, active=row.active)

    def faults_of(self, new: EnterpriseValues, before: EnterpriseValues | None) -> Faults:
        return name_faults(new.name)

    def assign(self, row: Enterprise, new: EnterpriseValues) -> None:
        row.name, row.active = new.name, new.active


ENTERPRISE = EnterpriseKind()
ENTERPRISE.track()
