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
    wanted = strip_name(EnterpriseValues(**values))
    enterprise_id = new_party_id() if enterprise_id is None else enterprise_id
    with transaction.atomic():
        ENTERPRISE.insert(enterprise_id, wanted, actor=actor)
    return enterprise_id


def update_enterprise(*, enterprise_id: str, actor: str, **edits: Unpack[EnterpriseEdits]) -> None:
    ENTERPRISE.update(enterprise_id, edits, actor=actor)


def deactivate_enterprise(*, enterprise_id: str, actor: str) -> None:
    """Refuse the keys of all its devices and databases; nothing of it is lost."""
    update_enterprise(enterprise_id=enterprise_id, actor=actor, active=False)


def _values_of(enterprise: Enterprise) -> EnterpriseValues:
    return EnterpriseValues(name=enterprise.name, active=enterprise.active)


def _faults_of(wanted: EnterpriseValues, before: EnterpriseValues | None) -> Faults:
    return name_faults(wanted.name)


def _assign(enterprise: Enterprise, wanted: EnterpriseValues) -> None:
    enterprise.name, enterprise.active = wanted.name, wanted.active


ENTERPRISE = PartyKind(
    name="enterprise",
    model=Enterprise,
    values=EnterpriseValues,
    values_of=_values_of,
    faults_of=_faults_of,
    assign=_assign,
    missing=EnterpriseNotFound,
    taken=EnterpriseExists,
)
ENTERPRISE.track()
