"""What the services of all parties share: an id that is free, values that are checked, written and told once."""

from collections.abc import Callable, Mapping
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


@dataclass(frozen=True)
class PartyKind(Generic[RowT, ValuesT]):
    """One kind of party: its rows, what the registry says of one, and how that is changed."""

    name: str
    model: type[RowT]
    values: type[ValuesT]
    values_of: Callable[[RowT], ValuesT]
    faults_of: Callable[[ValuesT, ValuesT | None], Faults]
    """Return the rules that the wanted values break; the second are those of now, nothing for a new party."""
    assign: Callable[[RowT, ValuesT], None]
    missing: type[NotFound]
    taken: type[Conflict]
    rival: "Rival | None" = None

    def find_held(self, party_id: str) -> RowT | None:
        """Find a party and hold its row for the rest of the transaction."""
        if not is_party_id(party_id):
            return None
        rows: Any = self.model._default_manager.select_for_update(no_key=True)
        held: RowT | None = rows.filter(pk=party_id).first()
        return held

    def hold(self, party_id: str) -> RowT:
        row = self.find_held(party_id)
        if row is None:
            raise self.missing
        return row

    def insert(self, party_id: str, wanted: ValuesT, *, actor: str) -> None:
        """Write a new row and tell it; of two with one id the second is refused."""
        refuse(id_faults(party_id) | self.faults_of(wanted, None))
        if self.rival is not None:
            self.rival.step_back(party_id)
        row = self.model(pk=party_id)
        self.assign(row, wanted)
        try:
            with transaction.atomic():
                row.save(force_insert=True)
        except IntegrityError as error:
            raise self.taken(id=party_id) from error
        self.tell(party_id, None, wanted, actor=actor)

    def update(self, party_id: str, edits: Mapping[str, Any], *, actor: str) -> None:
        """Change what is named; what is as it was leaves no trace."""
        with transaction.atomic():
            row = self.hold(party_id)
            self.write(row, strip_name(replace(self.values_of(row), **edits)), actor=actor)

    def write(self, row: RowT, wanted: ValuesT, *, actor: str) -> bool:
        """Write what differs, tell it, and say whether anything did."""
        before = self.values_of(row)
        if wanted == before:
            return False
        refuse(self.faults_of(wanted, before))
        self.assign(row, wanted)
        row.save(update_fields=[field.name for field in row._meta.concrete_fields if field.name in _names(wanted)])
        self.tell(str(row.pk), before, wanted, actor=actor)
        return True

    def tell(self, party_id: str, before: ValuesT | None, after: ValuesT | None, *, actor: str) -> None:
        """Write the line of the log and the event, in the caller's transaction."""
        old, new = (None if values is None else snapshot(self.name, values) for values in (before, after))
        change = RegistryChange(self.name, party_id, before=old, after=new)
        record_registry_changes([change], actor=actor, now=timezone.now())

    def track(self, restore: Callable[[str, Values | None, str], None] | None = None) -> None:
        """Let the change log keep and take back the changes of this kind."""
        names = tuple(field.name for field in fields(self.values))
        restore = restore or self._restore
        track(Tracked(kind=self.name, fields=names, find=self._find, restore=restore, scope=Scope.PARTIES_WRITE))

    def _find(self, party_id: str) -> ValuesT | None:
        row = self.find_held(party_id)
        return None if row is None else self.values_of(row)

    def _restore(self, party_id: str, values: Values | None, actor: str) -> None:
        """Put values back; a registration is taken back as DELETE would: by deactivation."""
        row = self.find_held(party_id)
        if row is None:
            raise NotRevertible
        wanted = replace(self.values_of(row), active=False) if values is None else self.values(**values)
        if not self.write(row, wanted, actor=actor):
            raise NotRevertible


@dataclass(frozen=True)
class Rival:
    """Another kind of party: an id that one has is none for the other."""

    model: type[Model]
    taken: type[Conflict]

    def step_back(self, party_id: str) -> None:
        """Refuse an id of the other kind, and let nobody take it there until the transaction ends.

        No constraint spans two tables. On SQLite every transaction that writes is alone already.
        """
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute(load_sql("messaging", "hold_account_id.postgresql"), [party_id])
        if self.model._default_manager.filter(pk=party_id).exists():
            raise self.taken(id=party_id)


def new_party_id() -> str:
    return str(ids.new_id())


def strip_name(values: ValuesT) -> ValuesT:
    tidied: ValuesT = replace(values, name=values.name.strip())
    return tidied


def _names(values: Any) -> set[str]:
    return {field.name for field in fields(values)}
