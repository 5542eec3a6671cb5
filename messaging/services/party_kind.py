"""What the services of all four kinds of party share: ids that are free, values that are checked, written, recorded."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeVar

from django.db import IntegrityError, connection, transaction
from django.db.models import Model
from django.utils import timezone

from config.access.scopes import Scope
from config.audit.changes import NotRevertible, Tracked, Values, snapshot, track
from config.common import ids
from config.common.database.sql import load_sql
from config.common.errors import Conflict, NotFound
from messaging.models.parties import is_party_id
from messaging.services.party_rules import Faults, id_faults, refuse
from notifications.services.registry_changes import RegistryChange, record_registry_changes

RowT = TypeVar("RowT", bound=Model)
ValuesT = TypeVar("ValuesT", bound=Any)


class PartyKind(Generic[RowT, ValuesT]):
    """One kind of party: its table, its values, its rules. The services of a kind call one instance of it."""

    name: str
    model: type[RowT]
    values: type[ValuesT]
    missing: type[NotFound]
    taken: type[Conflict]
    rival: "Rival | None" = None

    def values_of(self, row: RowT) -> ValuesT:
        """Return the values of a party as the registry shows them."""
        raise NotImplementedError

    def faults_of(self, new: ValuesT, before: ValuesT | None) -> Faults:
        """Return the rules that new values break; `before` is None for a new party."""
        raise NotImplementedError

    def assign(self, row: RowT, new: ValuesT) -> None:
        """Set the columns of a row."""
        raise NotImplementedError

    def find_locked(self, party_id: str) -> RowT | None:
        """Find a party and lock its row for the rest of the transaction."""
        if not is_party_id(party_id):
            return None
        rows: Any = self.model._default_manager.select_for_update(no_key=True)
        row: RowT | None = rows.filter(pk=party_id).first()
        return row

    def lock(self, party_id: str) -> RowT:
        row = self.find_locked(party_id)
        if row is None:
            raise self.missing
        return row

    def insert(self, party_id: str, new: ValuesT, *, actor: str) -> None:
        """Insert and record a new party; of two with one id the second is refused."""
        refuse(id_faults(party_id) | self.faults_of(new, None))
        if self.rival is not None:
            self.rival.reserve(party_id)
        row = self.model(pk=party_id)
        self.assign(row, new)
        try:
            # A savepoint: after a failed insert PostgreSQL would refuse all else in the caller's transaction.
            with transaction.atomic():
                row.save(force_insert=True)
        except IntegrityError as error:
            raise self.taken(id=party_id) from error
        self.record(party_id, None, new, actor=actor)

    def update(self, party_id: str, edits: Mapping[str, Any], *, actor: str) -> None:
        """Change the given values of a party; where all of them are equal, nothing is recorded."""
        with transaction.atomic():
            row = self.lock(party_id)
            self.write(row, strip_name(replace(self.values_of(row), **edits)), actor=actor)

    def write(self, row: RowT, new: ValuesT, *, actor: str) -> bool:
        """Write and record new values of a locked row; return whether any of them differs."""
        before = self.values_of(row)
        if new == before:
            return False
        refuse(self.faults_of(new, before))
        self.assign(row, new)
        names = {field.name for field in fields(new)}
        row.save(update_fields=[field.name for field in row._meta.concrete_fields if field.name in names])
        self.record(str(row.pk), before, new, actor=actor)
        return True

    def record(self, party_id: str, before: ValuesT | None, after: ValuesT | None, *, actor: str) -> None:
        """Write the line of the change log and the event, in the caller's transaction."""
        old, new = (None if values is None else snapshot(self.name, values) for values in (before, after))
        change = RegistryChange(self.name, party_id, before=old, after=new)
        record_registry_changes([change], actor=actor, now=timezone.now())

    def track(self) -> None:
        """Let the change log record and revert the changes of this kind."""
        names = tuple(field.name for field in fields(self.values))
        find, restore = self._find_values, self.restore
        page = f"admin:messaging_{self.model._meta.model_name}_change"
        track(Tracked(kind=self.name, fields=names, find=find, restore=restore, page=page, scope=Scope.PARTIES_WRITE))

    def restore(self, party_id: str, values: Values | None, actor: str) -> None:
        """Restore the values of the change log; a registration is reverted by deactivation, as DELETE would do it."""
        row = self.find_locked(party_id)
        if row is None:
            raise NotRevertible
        new = replace(self.values_of(row), active=False) if values is None else self.values(**values)
        if not self.write(row, new, actor=actor):
            raise NotRevertible

    def _find_values(self, party_id: str) -> ValuesT | None:
        row = self.find_locked(party_id)
        return None if row is None else self.values_of(row)


@dataclass(frozen=True)
class Rival:
    """Another kind of party that shares its ids with this one: an id of one is taken for the other."""

    model: type[Model]
    taken: type[Conflict]

    def reserve(self, party_id: str) -> None:
        """Refuse an id that the other kind has, and let nobody take it there until the transaction ends."""
        # No constraint spans two tables. On SQLite every transaction that writes is alone already.
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(load_sql("messaging", "lock_account_id.postgresql"), [party_id])
        if self.model._default_manager.filter(pk=party_id).exists():
            raise self.taken(id=party_id)


def new_party_id() -> str:
    return str(ids.new_id())


def strip_name(values: ValuesT) -> ValuesT:
    stripped: ValuesT = replace(values, name=values.name.strip())
    return stripped
