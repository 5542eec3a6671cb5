"""Record changes of the registry: a line of the change log and an event for each, in the transaction of the change."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from config.audit.changes import Change, Values, record_changes
from config.records.models import ChangeRecord
from notifications.services.events import NewEvent, record_events


@dataclass(frozen=True)
class RegistryChange:
    """The values of an object before and after; None before: it is new, None after: it is gone."""

    kind: str
    id: str | int
    before: Values | None
    after: Values | None

    @property
    def subject(self) -> str:
        return f"{self.kind}/{self.id}"

    @property
    def is_end(self) -> bool:
        """Whether the object is gone: one that is deactivated counts as deleted."""
        if self.before is None or self.after is None:
            return self.after is None
        return bool(self.before.get("active")) and not self.after.get("active")


def record_registry_changes(changes: Sequence[RegistryChange], *, actor: str, now: datetime) -> None:
    """Write the log lines and the events of these changes, in their order, in one statement each."""
    record_changes([_build_log_line(change) for change in changes], actor=actor)
    record_events(_build_event(change, now) for change in changes)


def _build_log_line(change: RegistryChange) -> Change:
    action = ChangeRecord.Action.CHANGED
    if change.before is None:
        action = ChangeRecord.Action.CREATED
    elif change.after is None:
        action = ChangeRecord.Action.DELETED
    return Change(kind=change.kind, object_id=str(change.id), action=action, before=change.before, after=change.after)


def _build_event(change: RegistryChange, now: datetime) -> NewEvent:
    before, after = change.before or {}, change.after or {}
    touched = [name for name in after if name not in before or before[name] != after[name]]
    verb = "created" if change.before is None else "deleted" if change.is_end else "changed"
    payload = {"kind": change.kind, "id": change.id, "changed": touched, "values": after or before}
    return NewEvent(type=f"registry.{verb}", subject=change.subject, at=now, payload=payload)
