"""Step 35.7: undo a cancelled change set by its rollback rows, whole or not at all.

A row is put back only if nothing newer has touched it; otherwise, or if what came since stands in the way (a parent
that is gone, new children, a circle), the compensation fails: a status with an alert, until a person decides.
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext_noop

from config.common.text_templates import nested_text
from notifications.services.alerts import close_alert, raise_alert
from notifications.services.events import NewEvent, record_events
from processes.coordination.models import AppEvent
from processes.coordination.models.writer import COMMITS, ROLLBACKS, TABLES
from processes.coordination.protocol.database_errors import FailureKind, classify_error, describe_error
from processes.coordination.protocol.reasons import decode_reason, encode_reason, format_reason_in_english
from processes.coordination.protocol.row_changes import UnreadablePayload, decode_touched
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.protocol.steps import steps_noted
from processes.coordination.schema.entities import BY_NAME, Entity, Key, Values, type_names
from processes.coordination.schema.tables import read_values
from processes.coordination.subjects import EVENT_PREFIX, subject_of
from processes.coordination.writer.change_sets import delete_rows, lock_tree, store_rows
from processes.coordination.writer.tree import Tree, lock_rows

TYPES = type_names()
ALERT = "coordination.compensation"
TOUCHED = gettext_noop("%(entity)s %(id)s has since been changed by change set %(event)s")
GONE = gettext_noop("%(entity)s %(id)s has since been deleted")
RETRIED = 100
"""Failed compensations that are tried again at once, newest first."""
IN_THE_WAY = gettext_noop("%(entity)s %(id)s cannot be restored: %(rule)s")


class Obstacle(Exception):
    """A row cannot be put back; the message is the reason."""

    def __init__(self, text: str, **detail: Any) -> None:
        super().__init__(encode_reason(text, **detail))


def awaits_operator(subject: str) -> bool:
    """Return whether the compensation of the alert's change set has failed, and nobody has settled that yet."""
    events = AppEvent.objects.filter(pk=int(subject.removeprefix(EVENT_PREFIX)))
    return events.filter(app_event_status_id=EventStatus.COMPENSATION_FAILED.value).exists()


def cancel_event(event: AppEvent, *, reason: str, at: datetime) -> bool:
    """Compensate a cancelled event, or mark the failure of that; return whether it was compensated."""
    # The first reason stays: whatever a later try was made for, the event was not cancelled for it.
    reason = event.cancel_reason or reason[:500]
    obstacle = _compensate(event) if event.is_undone else ""
    status = EventStatus.COMPENSATION_FAILED if obstacle else EventStatus.CANCELED
    AppEvent.objects.filter(pk=event.pk).update(
        app_event_status_id=status.value,
        is_published=False,
        again_at=None,
        ended_at=None if obstacle else at,
        reason=(obstacle or reason)[:500],
        cancel_reason=reason,
        steps=steps_noted(at, "35.7"),
    )
    if obstacle:
        raise_alert(
            ALERT,
            subject_of(event.pk),
            gettext_noop("Change set %(event)s was cancelled but could not be undone: %(reason)s"),
            {"event": event.pk, "reason": decode_reason(obstacle)},
        )
    else:
        close_alert(ALERT, subject_of(event.pk))
    verb = "compensation_failed" if obstacle else "canceled"
    record_events([_fact(event, verb, {"reason": format_reason_in_english(obstacle or reason)}, at)])
    return not obstacle


def retry_blocked_compensations(by: AppEvent, *, at: datetime) -> None:
    """Try failed compensations again that this one may have unblocked: its rows are as they were before it."""
    compensated = [by]
    while compensated:
        keys = _touched(compensated.pop())
        failed = AppEvent.objects.select_for_update().filter(app_event_status_id=EventStatus.COMPENSATION_FAILED.value)
        for event in failed.order_by("-pk")[:RETRIED]:
            if not keys.isdisjoint(_touched(event)) and cancel_event(event, reason=event.cancel_reason, at=at):
                compensated.append(event)


def _touched(event: AppEvent) -> set[Key]:
    """Return the rows that an event touches; payloads that this version cannot read are passed over."""
    keys: set[Key] = set()
    for content in event.payloads.values_list("content", flat=True):
        with suppress(UnreadablePayload):
            keys |= decode_touched(content)
    return keys


def publish_committed(events: Iterable[AppEvent], *, at: datetime) -> None:
    """Record the events that say that every reader has these change sets."""
    record_events(_fact(event, "committed", {}, at) for event in events)


def _fact(event: AppEvent, verb: str, payload: dict[str, Any], at: datetime) -> NewEvent:
    values = {"event": event.pk, "type": TYPES[event.app_event_type_id], **payload}
    return NewEvent(f"coordination.{verb}", subject_of(event.pk), at, values, correlation_id=event.correlation_id)


def _compensate(event: AppEvent) -> str:
    """Put all rows back; return the obstacle if there is one, and then nothing has changed."""
    try:
        with transaction.atomic():
            entities = [BY_NAME[name] for name in TABLES if _rollbacks(BY_NAME[name], event.pk).exists()]
            for entity in entities:
                if entity.parent is not None:  # before any row, as a change does: else both could wait for each other
                    lock_tree(entity)
            for entity in entities:
                _put_rows_back(entity, event.pk)
    except Exception as error:
        if classify_error(error) is not FailureKind.FINAL:
            raise
        return describe_error(error)
    return ""


def _rollbacks(entity: Entity, event: int) -> "QuerySet[Any]":
    found: QuerySet[Any] = ROLLBACKS[entity.name].objects.filter(app_event_id=event)
    return found


def _put_rows_back(entity: Entity, event: int) -> None:
    rollbacks = list(_rollbacks(entity, event).order_by("entity_id"))
    rows = lock_rows(entity, [row.entity_id for row in rollbacks])
    commits = {row.entity_id: row for row in COMMITS[entity.name].objects.filter(app_event_id=event)}
    for row in rollbacks:
        left = read_values(entity, commits[row.entity_id])
        _check_untouched(entity, row.entity_id, rows.get(row.entity_id), is_left=left is not None, event=event)
    before = {row.entity_id: read_values(entity, row) for row in rollbacks}
    _check_tree(entity, before)
    previous = {row.entity_id: row.previous_event_id for row in rollbacks}
    store_rows(entity, {pk: values for pk, values in before.items() if values is not None}, previous)
    delete_rows(entity, [pk for pk, values in before.items() if values is None])


def _check_untouched(entity: Entity, id: Any, row: Any, *, is_left: bool, event: int) -> None:
    """Raise `Obstacle` unless a row is as the event has left it."""
    detail = {"entity": entity.name, "id": id}
    if row is None and is_left:
        raise Obstacle(GONE, **detail)
    if row is not None and row.last_event_id != event:
        raise Obstacle(TOUCHED, event=row.last_event_id, **detail)


def _check_tree(entity: Entity, rows: dict[Any, Values | None]) -> None:
    if entity.parent is None:
        return
    tree = Tree(entity)
    for pk, values in rows.items():
        tree.change(pk, values)
    for pk, values in rows.items():
        fault = tree.fault(pk, None, values)
        if fault:
            raise Obstacle(IN_THE_WAY, entity=entity.name, id=pk, rule=nested_text(fault, {}))
