"""Register, rename, deactivate and reactivate ERP databases, and replace their keys."""

from typing import Unpack

from django.db import transaction

from config.records.models import AccessKey
from messaging.errors import DatabaseExists, DatabaseNotFound, DeviceExists
from messaging.models import Device, ExchangeDatabase
from messaging.services.party_keys import NewKey, make_party_key, replace_party_keys
from messaging.services.party_kind import PartyKind, Rival, new_party_id, strip_name
from messaging.services.party_rules import Faults, enterprise_faults, name_faults
from messaging.services.party_values import DatabaseEdits, DatabaseValues


def create_database(*, database_id: str | None = None, actor: str, **values: Unpack[DatabaseEdits]) -> NewKey:
    """Register a database under an id that no device has; return its key, which is shown this once."""
    wanted = strip_name(DatabaseValues(**values))
    database_id = new_party_id() if database_id is None else database_id
    with transaction.atomic():
        DATABASE.insert(database_id, wanted, actor=actor)
        return make_party_key(AccessKey.Kind.DATABASE, database_id, actor=actor)


def update_database(*, database_id: str, actor: str, **edits: Unpack[DatabaseEdits]) -> None:
    DATABASE.update(database_id, edits, actor=actor)


def deactivate_database(*, database_id: str, actor: str) -> None:
    """Refuse its keys; its messages and processes stay."""
    update_database(database_id=database_id, actor=actor, active=False)


def rotate_database_key(*, database_id: str, actor: str) -> NewKey:
    """Make a new key; all older ones end at once."""
    with transaction.atomic():
        DATABASE.hold(database_id)
        return replace_party_keys(AccessKey.Kind.DATABASE, database_id, actor=actor)


def _values_of(database: ExchangeDatabase) -> DatabaseValues:
    return DatabaseValues(enterprise=database.enterprise_id, name=database.name, active=database.active)


def _faults_of(wanted: DatabaseValues, before: DatabaseValues | None) -> Faults:
    was = "" if before is None else before.enterprise
    return enterprise_faults(wanted.enterprise, was=was) | name_faults(wanted.name)


def _assign(database: ExchangeDatabase, wanted: DatabaseValues) -> None:
    database.enterprise_id, database.name, database.active = wanted.enterprise, wanted.name, wanted.active


DATABASE = PartyKind(
    name="database",
    model=ExchangeDatabase,
    values=DatabaseValues,
    values_of=_values_of,
    faults_of=_faults_of,
    assign=_assign,
    missing=DatabaseNotFound,
    taken=DatabaseExists,
    rival=Rival(Device, DeviceExists),
)
DATABASE.track()
