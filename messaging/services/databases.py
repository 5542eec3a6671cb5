"""Register, rename, deactivate and reactivate ERP databases, and rotate their keys."""

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
    new = strip_name(DatabaseValues(**values))
    database_id = new_party_id() if database_id is None else database_id
    with transaction.atomic():
        DATABASE.insert(database_id, new, actor=actor)
        return make_party_key(AccessKey.Kind.DATABASE, database_id, actor=actor)


def update_database(*, database_id: str, actor: str, **edits: Unpack[DatabaseEdits]) -> None:
    DATABASE.update(database_id, edits, actor=actor)


def deactivate_database(*, database_id: str, actor: str) -> None:
    """Refuse the keys of a database from now on; its messages and processes stay."""
    update_database(database_id=database_id, actor=actor, active=False)


def rotate_database_key(*, database_id: str, actor: str) -> NewKey:
    """Return a new key of a database; all older ones end at once."""
    with transaction.atomic():
        DATABASE.lock(database_id)
        return replace_party_keys(AccessKey.Kind.DATABASE, database_id, actor=actor)


class DatabaseKind(PartyKind[ExchangeDatabase, DatabaseValues]):
    name = "database"
    model = ExchangeDatabase
    values = DatabaseValues
    missing = DatabaseNotFound
    taken = DatabaseExists
    rival = Rival(Device, DeviceExists)

    def values_of(self, row: ExchangeDatabase) -> DatabaseValues:
        return DatabaseValues(enterprise=row.enterprise_id, name=row.name, active=row.active)

    def faults_of(self, new: DatabaseValues, before: DatabaseValues | None) -> Faults:
        was = "" if before is None else before.enterprise
        return enterprise_faults(new.enterprise, was=was) | name_faults(new.name)

    def assign(self, row: ExchangeDatabase, new: DatabaseValues) -> None:
        row.enterprise_id, row.name, row.active = new.enterprise, new.name, new.active


DATABASE = DatabaseKind()
DATABASE.track()
