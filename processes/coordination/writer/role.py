"""The role Writer: announces its events, sends their payloads, and ends them as the Coordinator has decided."""

from collections.abc import Mapping
from datetime import datetime

from django.db.models import QuerySet

from config.common.database.sql import in_number_array
from processes.coordination.bus import Bus
from processes.coordination.models import AppEvent, AppEventPayload, WriterState
from processes.coordination.protocol.messages import (
    COORDINATOR,
    WRITER,
    Message,
    MessageType,
    OutgoingMessage,
    Payload,
    build_header,
    split_pages,
)
from processes.coordination.protocol.role import BATCH, Handler, Pace, Role, event_ids, has_follow_up
from processes.coordination.protocol.statuses import EventStatus, PayloadStatus
from processes.coordination.protocol.steps import (
    REPEAT_AFTER,
    mark_published,
    note_step,
    take_step,
    with_ids,
)
from processes.coordination.protocol.transitions import BY_NUMBER, PUBLISHING, RoleKind
from processes.coordination.writer.compensation import (
    cancel_event,
    publish_committed,
    retry_blocked_compensations,
)
from processes.coordination.writer.positions import assign_positions_once
from processes.coordination.writer.registry import fill_payloads_once

REPEATS_PER_SECOND = 200
REPEATS_AT_ONCE = 500
"""Events that are announced again: of a line of many thousands those that have waited longest."""


class Writer(Role):
    name = "writer"
    queue = WRITER
    alias = "default"

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus)
        self._pace = Pace(REPEATS_PER_SECOND, burst=REPEATS_AT_ONCE, most=REPEATS_AT_ONCE)

    def lock_state(self) -> None:
        WriterState.objects.select_for_update().get(pk=1)

    @property
    def handlers(self) -> Mapping[MessageType, Handler]:
        return {
            MessageType.SAVING_BEGINS: self._send_payloads,
            MessageType.PAYLOADS_WANTED: self._send_payloads,
            MessageType.PAYLOADS_SAVED: self._record_saved,
            MessageType.SAVING_ENDED: self._record_saved,
            MessageType.EVENT_COMMITTED: self._commit_events,
            MessageType.EVENT_CANCELED: self._cancel_events,
        }

    def act(self, at: datetime) -> bool:
        found = fill_payloads_once(at=at)
        found |= assign_positions_once()
        self.continues = found  # each takes a limited batch: there may be more
        return found

    def publish(self, at: datetime) -> bool:
        """Step 2 in the order of the positions, and repeats for events that stay in one status."""
        step = PUBLISHING[RoleKind.WRITER][EventStatus.CREATED]
        known = AppEvent.objects.filter(position__isnull=False, changes__isnull=True)
        new = known.filter(is_published=False, app_event_status_id=EventStatus.CREATED.value)
        events = list(new.order_by("position").defer("steps")[:BATCH])
        late = list(known.filter(again_at__lte=at).order_by("again_at").defer("steps")[: self._pace.allowed()])
        self._pace.spend(len(late))
        announced: list[OutgoingMessage] = []
        if events or late:
            for event in (*events, *late):
                header = build_header(event, is_saved=event.status == EventStatus.SAVED)
                announced.append((COORDINATOR, Message(MessageType.EVENT_CREATED, event=event.pk, header=header)))
            self.bus.send(announced)
            mark_published(
                step, AppEvent.objects.all(), [event.pk for event in events], at=at, again_at=at + REPEAT_AFTER
            )
            AppEvent.objects.filter(pk__in=[event.pk for event in late], again_at__isnull=False).update(
                again_at=at + REPEAT_AFTER
            )
        self.continues |= has_follow_up(RoleKind.WRITER, events)
        return bool(events)

    def _send_payloads(self, messages: list[Message], at: datetime) -> list[OutgoingMessage]:
        """Steps 5 and 7: mark events as being saved, and answer with all their payloads."""
        begun, requested = (
            event_ids(messages, MessageType.SAVING_BEGINS),
            event_ids(messages, MessageType.PAYLOADS_WANTED),
        )
        _take_and_note("5", begun, "7", requested, at=at)
        return _build_payload_messages(requested)

    def _record_saved(self, messages: list[Message], at: datetime) -> list[OutgoingMessage]:
        """Steps 10 and 13: record which payloads the Coordinator has, and of which events it has all."""
        saved, ended = event_ids(messages, MessageType.PAYLOADS_SAVED), event_ids(messages, MessageType.SAVING_ENDED)
        _take_and_note("13", ended, "10", saved, at=at)
        _mark_saved_of(ended)
        under_way = set(saved).difference(ended)
        ids = [pk for message in messages if message.event in under_way for pk in message.ids]
        if ids:
            _mark_saved(AppEventPayload.objects.filter(pk__in=in_number_array(ids)))
        return []

    def _commit_events(self, messages: list[Message], at: datetime) -> list[OutgoingMessage]:
        """Step 34.7: end events that every reader has committed."""
        done = take_step("34.7", AppEvent.objects.all(), event_ids(messages), at=at, again_at=None, ended_at=at)
        _mark_saved_of(done)
        publish_committed(with_ids(AppEvent.objects.all(), done).defer("steps").order_by("pk"), at=at)
        return []

    def _cancel_events(self, messages: list[Message], at: datetime) -> list[OutgoingMessage]:
        """Step 35.7: undo cancelled events, the newest first: it may build upon those before it."""
        reasons = {message.event: message.reason for message in messages}
        waiting = AppEvent.objects.select_for_update().filter(
            pk__in=list(reasons), app_event_status_id__in=[each.value for each in BY_NUMBER["35.7"].only_from]
        )
        for event in waiting.order_by("-pk"):
            if cancel_event(event, reason=reasons[event.pk], at=at):
                retry_blocked_compensations(event, at=at)
        _mark_saved_of(list(reasons))
        return []


def _take_and_note(step: str, taking: list[int], other: str, noting: list[int], *, at: datetime) -> None:
    """Take a step with some events and note another one on some, in one update where they are the same."""
    rows, both = AppEvent.objects.all(), set(taking) & set(noting)
    take_step(step, rows, sorted(both), at=at, noting=[other], again_at=at + REPEAT_AFTER)
    take_step(step, rows, sorted(set(taking) - both), at=at, again_at=at + REPEAT_AFTER)
    note_step(other, rows, sorted(set(noting) - both), at=at)


def _build_payload_messages(events: list[int]) -> list[OutgoingMessage]:
    """Return the payloads of events in pages; a last empty page says that there are no more."""
    if not events:
        return []
    rows = AppEventPayload.objects.filter(app_event_id__in=in_number_array(events)).order_by("pk")
    found: dict[int, list[Payload]] = {event: [] for event in events}
    for pk, event, content in rows.values_list("pk", "app_event_id", "content"):
        found[event].append(Payload(pk, content))
    messages: list[OutgoingMessage] = []
    for event, payloads in found.items():
        for page in split_pages(payloads):
            messages.append((COORDINATOR, Message(MessageType.PAYLOADS, event=event, payloads=page)))
        messages.append((COORDINATOR, Message(MessageType.PAYLOADS, event=event, is_last=True)))
    return messages


def _mark_saved_of(events: list[int]) -> None:
    """Mark all payloads of events as saved, whatever was lost of step 10: the Coordinator has them by now."""
    if events:
        _mark_saved(AppEventPayload.objects.filter(app_event_id__in=in_number_array(events)))


def _mark_saved(payloads: "QuerySet[AppEventPayload]") -> None:
    payloads.filter(app_event_payload_status_id=PayloadStatus.CREATED.value).update(
        app_event_payload_status_id=PayloadStatus.SAVED.value
    )
