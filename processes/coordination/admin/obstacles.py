"""The obstacles of a compensation: rows that are no longer as the change set left them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from processes.coordination.admin.presentation import format_entity
from processes.coordination.models import AppEvent
from processes.coordination.models.writer import COMMITS, TABLES
from processes.coordination.protocol.reasons import format_reason
from processes.coordination.schema.entities import BY_NAME, Entity
from processes.coordination.schema.tables import read_values

SHOWN = 20


@dataclass(frozen=True)
class TouchedRow:
    entity: str
    id: Any
    event: int | None
    """The newer change set that has it; None: it is gone."""


@dataclass(frozen=True)
class Obstacles:
    reason: str
    rows: list[TouchedRow]
    more: int


def find_obstacles(event: AppEvent) -> Obstacles:
    """Return why the compensation failed, and the rows that something newer has touched."""
    found = [row for name in TABLES for row in _touched(BY_NAME[name], event.pk)]
    return Obstacles(format_reason(event.reason), found[:SHOWN], max(0, len(found) - SHOWN))


def _touched(entity: Entity, event: int) -> Iterator[TouchedRow]:
    commits = COMMITS[entity.name].objects.filter(app_event_id=event).order_by("entity_id")
    left = {row.entity_id: read_values(entity, row) for row in commits}
    if not left:
        return
    of_event = commits.order_by().values("entity_id")
    now = dict(TABLES[entity.name].objects.filter(pk__in=of_event).values_list("pk", "last_event_id"))
    for pk, values in left.items():
        if pk not in now and values is not None:
            yield TouchedRow(format_entity(entity.name), pk, None)
        elif now.get(pk, event) != event:
            yield TouchedRow(format_entity(entity.name), pk, now[pk])
