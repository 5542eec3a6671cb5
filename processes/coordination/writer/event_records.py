"""Insert what an event of the Writer consists of: the event, its payloads, commit and rollback rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from config.common.correlation import correlation_id
from config.common.database.bulk_insert import insert_rows
from processes.coordination.models import AppEvent, AppEventPayload
from processes.coordination.models.writer import COMMITS, ROLLBACKS
from processes.coordination.protocol.row_changes import RowChange, encode_change, fold_changes
from processes.coordination.protocol.steps import REPEAT_AFTER, step_times
from processes.coordination.schema.entities import BY_NAME, Entity
from processes.coordination.schema.tables import attribute_columns

_RECORDED = (
    "date",
    "correlation_id",
    "app_event_type_id",
    "is_undone",
    "payload_count",
    "changes",
    "again_at",
    "steps",
)


def insert_event(
    type: int, *, is_undone: bool, at: datetime, payloads: int = 0, changes: list[int] | None = None
) -> AppEvent:
    event = AppEvent(
        date=at,
        correlation_id=correlation_id(),
        app_event_type_id=type,
        is_undone=is_undone,
        payload_count=payloads,
        changes=changes,
        again_at=at + REPEAT_AFTER,
        steps=step_times(at, "1"),
    )
    (event.pk,) = insert_rows(AppEvent, {name: [getattr(event, name)] for name in _RECORDED})
    return event


@dataclass(frozen=True)
class EventRecord:
    """The changes of an event, to be inserted as payloads, commit and rollback rows."""

    event: AppEvent
    changes: Sequence[RowChange]
    last_events: Mapping[tuple[str, Any], int] = field(default_factory=dict)
    """The event that had touched each row last, by the row; new rows have none."""
    sources: Sequence[tuple[int | None, int]] = ()
    """For each change the line of the change log that it comes from, and which part of it."""

    def write(self, *, at: datetime) -> None:
        sources = self.sources or [(None, 0)] * len(self.changes)
        insert_rows(
            AppEventPayload,
            {
                "content": [encode_change(each) for each in self.changes],
                "change_id": [change_id for change_id, _ in sources],
                "part": [part for _, part in sources],
            },
            same={"app_event_id": self.event.pk, "date": at},
        )
        folded = fold_changes(self.changes)
        for name in {each.entity.name: ... for each in folded}:
            self._write_rows(BY_NAME[name], [each for each in folded if each.entity.name == name])

    def _write_rows(self, entity: Entity, changes: list[RowChange]) -> None:
        ids, same = [each.id for each in changes], {"app_event_id": self.event.pk}
        after = attribute_columns(entity, [each.after for each in changes])
        insert_rows(COMMITS[entity.name], {"entity_id": ids, **after}, same=same)
        before = attribute_columns(entity, [each.before for each in changes])
        previous = [self.last_events.get((entity.name, pk)) for pk in ids]
        insert_rows(ROLLBACKS[entity.name], {"entity_id": ids, "previous_event_id": previous, **before}, same=same)
