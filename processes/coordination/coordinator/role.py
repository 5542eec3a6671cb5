"""The role Coordinator: leads each event from the Writer through all readers to its end."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q

from processes.coordination.bus import Bus
from processes.coordination.coordinator.activation import (
    activate_events,
    add_new_readers,
    advance_known_position,
    release_rows,
)
from processes.coordination.coordinator.answers import advance_events, record_answers, resend_unknown_events
from processes.coordination.coordinator.decisions import (
    decide_processed_events,
    enforce_deadlines,
    request_new_verdicts,
)
from processes.coordination.coordinator.intake import (
    build_saved_messages,
    find_unpublished_payloads,
    record_new_events,
    store_payloads,
)
from processes.coordination.coordinator.liveness import advance_clock, record_heartbeats
from processes.coordination.coordinator.outgoing_messages import build_messages
from processes.coordination.models import CoordinatorState, WriterEvent, WriterEventPayload
from processes.coordination.protocol.messages import COORDINATOR, MessageType
from processes.coordination.protocol.role import BATCH, Handler, Pace, Role, has_follow_up
from processes.coordination.protocol.statuses import FINAL, EventStatus, PayloadStatus
from processes.coordination.protocol.steps import (
    REPEAT_AFTER,
    mark_published,
    note_step,
    take_step,
    with_ids,
)
from processes.coordination.protocol.transitions import PUBLISHING, RoleKind
from processes.coordination.schema.routing import reader_names

REPEATS_AT_ONCE = 500
WAITING_PER_SECOND = 20
WAITING_AT_ONCE = 100
"""Waiting events whose verdict is asked for again: a reader judges each of them by itself."""
MAKES_DUE = {
    MessageType.EVENT_CREATED,
    MessageType.PAYLOADS,
    MessageType.PROCESSED,
    MessageType.COMMITTED,
    MessageType.CANCELED,
}
"""Messages that may make a decision due, or free a place for the next event."""
ACT_AT_LEAST_EVERY = timedelta(seconds=0.2)
"""While messages of other types come; what is due by time alone waits no longer than this."""


class Coordinator(Role):
    name = "coordinator"
    queue = COORDINATOR
    alias = "default"

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus)
        self._has_all_readers = False
        """Readers are configured when a process starts: each process looks once whether there are new ones."""
        self._acted_at: datetime | None = None
        self._pace = Pace(WAITING_PER_SECOND, burst=WAITING_AT_ONCE, most=REPEATS_AT_ONCE)
        self._asked: set[int] = set()
        """Waiting events whose readers were asked for a new verdict lately."""

    def lock_state(self) -> None:
        CoordinatorState.objects.select_for_update().get(pk=1)

    @property
    def handlers(self) -> Mapping[MessageType, Handler]:
        return {
            MessageType.ALIVE: record_heartbeats,
            MessageType.EVENT_CREATED: record_new_events,
            MessageType.PAYLOADS: store_payloads,
            MessageType.UNKNOWN: resend_unknown_events,
            MessageType.PREPARING_BEGINS: record_answers,
            MessageType.PAYLOADS_PREPARED: record_answers,
            MessageType.PROCESSING_BEGINS: record_answers,
            MessageType.PAYLOADS_PROCESSED: record_answers,
            MessageType.PROCESSED: record_answers,
            MessageType.COMMITTED: record_answers,
            MessageType.CANCELED: record_answers,
        }

    def is_due(self, received: set[MessageType], at: datetime) -> bool:
        # Most answers only move their own event on, and its next message is not to wait for a look at all others.
        is_due = not received or not received.isdisjoint(MAKES_DUE)
        return is_due or self._acted_at is None or abs(at - self._acted_at) > ACT_AT_LEAST_EVERY

    def act(self, at: datetime) -> bool:
        self._acted_at = at
        if not WriterEvent.objects.exclude(app_event_status_id__in=list(FINAL)).exists():
            return False
        with transaction.atomic():
            state = CoordinatorState.objects.select_for_update().get(pk=1)
            if not self._has_all_readers:
                add_new_readers()
            advance_clock(state, at=at)
            advance_known_position(state)
            enforce_deadlines(state, at=at)
            found = decide_processed_events(at=at)
            has_begun, is_shorter = activate_events(state, at=at)
        self._has_all_readers = True
        self.continues |= is_shorter  # events that have come into the window now may begin
        return found or has_begun or is_shorter

    def publish(self, at: datetime) -> bool:
        """Steps 4, 6, 9, 12, 15, 19, 24, 34.2, 34.6, 35.2 and 35.6, and repeats for events that stay in one status."""
        publishing = PUBLISHING[RoleKind.COORDINATOR]
        payloads = find_unpublished_payloads(BATCH)
        new = WriterEvent.objects.filter(
            is_published=False, app_event_status_id__in=[status.value for status in publishing]
        )
        events = list(new.order_by("position").defer("steps", "touched")[:BATCH])
        late = self._claim_repeats(at)
        messages = build_saved_messages(payloads) + build_messages(events) + build_messages(late, again=True)
        if messages:
            self.bus.send(messages)
        self._mark_sent(payloads, events, at)
        self.continues |= has_follow_up(RoleKind.COORDINATOR, events, payloads)
        return bool(events or payloads) or self.continues

    def _mark_sent(self, payloads: list[WriterEventPayload], events: list[WriterEvent], at: datetime) -> None:
        rows = WriterEvent.objects.all()
        if payloads:
            sent = with_ids(WriterEventPayload.objects.all(), [row.pk for row in payloads])
            sent.filter(app_event_payload_status_id=PayloadStatus.CREATED.value).update(is_published=True)
        saved = {row.writer_event_id for row in payloads}
        whole = {event.pk for event in events if event.status == EventStatus.SAVED} & saved
        note_step("9", rows, sorted(saved - whole), at=at)
        for status, step in PUBLISHING[RoleKind.COORDINATOR].items():
            of_status = [event.pk for event in events if event.status == status and event.pk not in whole]
            mark_published(step, rows, of_status, at=at, noting=["6"] if status == EventStatus.CREATED else ())
            if status == EventStatus.SAVED:
                mark_published(step, rows, sorted(whole), at=at, noting=["9"])

    def _claim_repeats(self, at: datetime) -> list[WriterEvent]:
        """Return the events that have stayed in one status for too long, and set the time of their next repeat."""
        due = WriterEvent.objects.filter(again_at__lte=at).order_by("again_at")
        in_line, beside = due.filter(is_waiting=False), due.filter(is_waiting=True)
        allowed = self._allowed_new_verdicts(at) if beside.exists() else 0
        if not allowed and not in_line.exists():
            return []
        with transaction.atomic():
            self.lock_state()
            late, waiting = list(in_line[:REPEATS_AT_ONCE]), list(beside[:allowed])
            self._pace.spend(len(waiting))
            rows = with_ids(WriterEvent.objects.all(), [event.pk for event in (*late, *waiting)])
            rows.update(again_at=at + REPEAT_AFTER)
            asked = set(
                request_new_verdicts([event.pk for event in waiting if event.status == EventStatus.PROCESSED], at=at)
            )
            self._asked |= asked
            self.continues |= bool(asked) or len(late) == REPEATS_AT_ONCE
            advance_events([event.pk for event in (*late, *waiting)], at)
            # A reader that does not confirm a cancellation has applied nothing and never will: after one repeat the
            # event goes on without it, though the cancellation is sent to it until it answers.
            canceling = [event.pk for event in late if event.status == EventStatus.CANCELING]
            release_rows(take_step("35.5", rows, canceling, at=at, ended_at=at))
            # It is sent no more once every reader that is still configured has confirmed it.
            canceled = [event for event in late if event.status == EventStatus.CANCELED]
            missing = Q(name__in=reader_names(), ended_at__isnull=True)
            done = {event.pk for event in canceled if not event.readers.filter(missing).exists()}
            with_ids(WriterEvent.objects.all(), done).update(again_at=None)
        return [event for event in (*late, *waiting) if event.pk not in done | asked]

    def _allowed_new_verdicts(self, at: datetime) -> int:
        """Return for how many waiting events a new verdict may be asked now.

        All at once would keep the readers from the other events. Once readers agree to what they had refused, more of
        them follow at once.
        """
        if self._asked:
            still = with_ids(WriterEvent.objects.all(), self._asked).filter(is_waiting=True, again_at__gt=at)
            unanswered = set(still.values_list("pk", flat=True))
            ended = with_ids(WriterEvent.objects.all(), self._asked).filter(is_waiting=False)
            self._pace.speed_up(ended.count())
            self._asked = unanswered
        return self._pace.allowed()
