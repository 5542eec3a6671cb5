"""Write what an event of the Writer consists of: the event, its payloads, commit and rollback rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from config.common.correlation import correlation_id
from config.common.moments import format_moment
from processes.coordination.content import RowChange, fold, write_content
from processes.coordination.entities import BY_NAME
from processes.coordination.models import AppEvent, AppEventPayload
from processes.coordination.models.writer import COMMITS, ROLLBACKS
from processes.coordination.steps import AGAIN
from processes.coordination.tables import columns_of


def record_event_of(
    type: int, *, is_undone: bool, at: datetime, payloads: int = 0, changes: list[int] | None = None
) -> AppEvent:
    return AppEvent.objects.create(
        date=at,
        correlation_id=correlation_id(),
        app_event_type_id=type,
        is_undone=is_undone,
        payload_count=payloads,
        changes=changes,
        again_at=at + AGAIN,
        steps={"1": format_moment(at)},
    )


@dataclass(frozen=True)
class Recorded:
    event: AppEvent
    changes: Sequence[RowChange]
    last_events: Mapping[tuple[str, Any], int] = field(default_factory=dict)
    """Of rows that were there, the event that had touched them last."""
    sources: Sequence[tuple[int | None, int]] = ()
    """Of each change the line of the change log that it comes from, and which part of it."""

    def write(self, *, at: datetime) -> None:
        sources = self.sources or [(None, 0)] * len(self.changes)
        AppEventPayload.objects.bulk_create(
            AppEventPayload(app_event=self.event, date=at, content=write_content(each), change_id=change_id, part=part)
            for each, (change_id, part) in zip(self.changes, sources, strict=True)
        )
        folded = fold(self.changes)
        for name in {each.entity.name for each in folded}:
            entity, of_it = BY_NAME[name], [each for each in folded if each.entity.name == name]
            commit, rollback = COMMITS[name], ROLLBACKS[name]
            commit.objects.bulk_create(
                commit(app_event_id=self.event.pk, entity_id=each.id, **columns_of(entity, each.after))
                for each in of_it
            )
            rollback.objects.bulk_create(
                rollback(
                    app_event_id=self.event.pk,
                    entity_id=each.id,
                    previous_event_id=self.last_events.get((name, each.id)),
                    **columns_of(entity, each.before),
                )
                for each in of_it
            )
