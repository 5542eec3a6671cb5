"""Resolution of a failed compensation by a person: retry it, or accept the Writer's rows."""

from datetime import datetime
from enum import StrEnum

from django.db import transaction
from django.utils.translation import gettext_noop

from config.common.background.ring import ring
from config.common.text_templates import on_one_line
from notifications.services.alerts import close_alert
from notifications.services.events import NewEvent, record_events
from processes.coordination.errors import EventNotFound, NotFailed, StillFailing
from processes.coordination.models import AppEvent
from processes.coordination.models.writer import COMMITS, ROLLBACKS, TABLES
from processes.coordination.protocol.reasons import format_reason
from processes.coordination.protocol.row_changes import RowChange
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.schema.entities import BY_NAME, Entity
from processes.coordination.schema.tables import read_values
from processes.coordination.subjects import subject_of
from processes.coordination.work_names import WRITER
from processes.coordination.writer.compensation import ALERT, cancel_event, retry_blocked_compensations
from processes.coordination.writer.event_records import EventRecord, insert_event
from processes.coordination.writer.tree import lock_rows


class Action(StrEnum):
    RETRY = "retry"
    ACCEPT = "accept"


def resolve_compensation(event_id: int, *, action: Action, reason: str, actor: str, at: datetime) -> None:
    """Retry a failed compensation, or accept the Writer's rows as they are."""
    with transaction.atomic():
        event = _lock_failed(event_id)
        AppEvent.objects.filter(pk=event.pk).update(resolved_by=actor[:160], resolution=on_one_line(reason)[:500])
        if action == Action.ACCEPT:
            _accept(event, at=at)
        elif not cancel_event(event, reason=reason, at=at):
            obstacle = AppEvent.objects.get(pk=event.pk).reason
            raise StillFailing(reason=format_reason(obstacle))
        else:
            retry_blocked_compensations(event, at=at)
        values = {"event": event.pk, "action": action.value, "by": actor, "reason": reason}
        record_events([NewEvent("coordination.resolved", subject_of(event.pk), at, values, event.correlation_id)])


def _lock_failed(event_id: int) -> AppEvent:
    event = None
    if 0 < event_id < 2**63:
        event = AppEvent.objects.select_for_update().filter(pk=event_id).first()
    if event is None:
        raise EventNotFound
    if event.status != EventStatus.COMPENSATION_FAILED:
        raise NotFailed(status=event.status.title)
    return event


def _accept(event: AppEvent, *, at: datetime) -> None:
    """Let the rows stand, and send those that no newer event carries to the readers, as a change set of its own."""
    AppEvent.objects.filter(pk=event.pk).update(
        app_event_status_id=EventStatus.CANCELED.value, ended_at=at, reason=event.cancel_reason or event.reason
    )
    close_alert(ALERT, subject_of(event.pk), gettext_noop("The Writer's values have been accepted."))
    left = [change for name in TABLES for change in _find_untouched(BY_NAME[name], event.pk)]
    if not left:
        return
    again = insert_event(event.app_event_type_id, is_undone=True, at=at, payloads=len(left))
    previous = {
        (name, row.entity_id): row.previous_event_id
        for name in TABLES
        for row in ROLLBACKS[name].objects.filter(app_event_id=event.pk)
    }
    EventRecord(again, left, previous).write(at=at)
    for name, table in TABLES.items():
        ids = [each.id for each in left if each.entity.name == name]
        table.objects.filter(pk__in=ids).update(last_event_id=again.pk)
    ring(WRITER)


def _find_untouched(entity: Entity, event: int) -> list[RowChange]:
    """Return the changes from what readers have to what the event has left, of rows that nothing newer has touched."""
    rollbacks = {row.entity_id: row for row in ROLLBACKS[entity.name].objects.filter(app_event_id=event)}
    commits = {row.entity_id: row for row in COMMITS[entity.name].objects.filter(app_event_id=event)}
    locked = lock_rows(entity, rollbacks)
    left: list[RowChange] = []
    for pk, rollback in sorted(rollbacks.items()):
        row, after = locked.get(pk), read_values(entity, commits[pk])
        is_as_left = after is None if row is None else row.last_event_id == event
        if is_as_left and after != read_values(entity, rollback):
            left.append(RowChange(entity, pk, read_values(entity, rollback), after))
    return left
