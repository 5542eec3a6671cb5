"""The Coordinator as a participant: leads each event from the Writer through all readers to its end."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import transaction

from processes.coordination.bus import Bus
from processes.coordination.coordinator.activation import (
    activate_events,
    add_new_readers,
    advance_known_position,
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
from processes.coordination.coordinator.line import release_rows
from processes.coordination.coordinator.liveness import advance_clock, record_heartbeats
from processes.coordination.coordinator.outgoing import build_messages
from processes.coordination.models import CoordinatorState, WriterEvent, WriterEventPayload
from processes.coordination.protocol.messages import COORDINATOR, MessageType
from processes.coordination.protocol.pace import Pace
from processes.coordination.protocol.role import BATCH, Handler, Role, has_follow_up
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

AGAIN_MOST = 500
WAITING_PER_SECOND = 20
WAITING_AT_ONCE = 100
"""Events that wait, asked about again: each costs a reader a judgement by itself."""
ACTED_UPON = {
    MessageType.EVENT_CREATED,
    MessageType.PAYLOADS,
    MessageType.PROCESSED,
    MessageType.COMMITTED,
    MessageType.CANCELED,
}
"""Messages that may make something due by themselves: a decision, or a place for the next event."""
MOMENT = timedelta(seconds=0.2)
"""What is due without a message waits no longer than this behind messages of other kinds."""


class Coordinator(Role):
    name = "coordinator"
    queue = COORDINATOR
    alias = "default"

    def __init__(self, bus: Bus) -> None:
        super().__init__(bus)
        self._has_all_readers = False
        """Readers are configured when a process starts: each looks once whether there are new ones."""
        self._acted_at: datetime | None = None
        self._pace = Pace(WAITING_PER_SECOND, burst=WAITING_AT_ONCE, most=AGAIN_MOST)
        self._asked: set[int] = set()
        """Events that wait and were asked about lately."""

    def hold(self) -> None:
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

    def may_act(self, heard: set[MessageType], at: datetime) -> bool:
        """Most answers only move an event on, and the next letter about it is not to wait for a look at all others."""
        is_due = not heard or not heard.isdisjoint(ACTED_UPON)
        return is_due or self._acted_at is None or abs(at - self._acted_at) > MOMENT

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
        self.leads_on |= is_shorter  # what comes into sight now may begin
        return found or has_begun or is_shorter

    def tell(self, at: datetime) -> bool:
        """Say what the events' statuses call for, and once more what has stayed in one for long."""
        telling = PUBLISHING[RoleKind.COORDINATOR]
        payloads = find_unpublished_payloads(BATCH)
        new = WriterEvent.objects.filter(
            is_published=False, app_event_status_id__in=[status.value for status in telling]
        )
        events = list(new.order_by("position").defer("steps", "touched")[:BATCH])
        late = self._late(at)
        letters = build_saved_messages(payloads) + build_messages(events) + build_messages(late, again=True)
        if letters:
            self.bus.send(letters)
        self._mark(payloads, events, at)
        self.leads_on |= has_follow_up(RoleKind.COORDINATOR, events, payloads)
        return bool(events or payloads) or self.leads_on

    def _mark(self, payloads: list[WriterEventPayload], events: list[WriterEvent], at: datetime) -> None:
        rows = WriterEvent.objects.all()
        if payloads:
            told = with_ids(WriterEventPayload.objects.all(), [row.pk for row in payloads])
            told.filter(app_event_payload_status_id=PayloadStatus.CREATED.value).update(is_published=True)
        saved = {row.writer_event_id for row in payloads}
        whole = {event.pk for event in events if event.status == EventStatus.SAVED} & saved
        note_step("9", rows, sorted(saved - whole), at=at)
        for status, step in PUBLISHING[RoleKind.COORDINATOR].items():
            of_status = [event.pk for event in events if event.status == status and event.pk not in whole]
            mark_published(step, rows, of_status, at=at, noting=["6"] if status == EventStatus.CREATED else ())
            if status == EventStatus.SAVED:
                mark_published(step, rows, sorted(whole), at=at, noting=["9"])

    def _late(self, at: datetime) -> list[WriterEvent]:
        """Take what has stayed in one status for long, and say when to look again.

        A reader that does not confirm a cancellation has applied nothing and never will: after one repeat nobody waits
        for it any longer, though it is told until it answers.
        """
        due = WriterEvent.objects.filter(again_at__lte=at).order_by("again_at")
        in_line, beside = due.filter(is_waiting=False), due.filter(is_waiting=True)
        allowed = self._waiting_allowed(at) if beside.exists() else 0
        if not allowed and not in_line.exists():
            return []
        with transaction.atomic():
            self.hold()
            late, waiting = list(in_line[:AGAIN_MOST]), list(beside[:allowed])
            self._pace.spend(len(waiting))
            rows = with_ids(WriterEvent.objects.all(), [event.pk for event in (*late, *waiting)])
            rows.update(again_at=at + REPEAT_AFTER)
            asked = set(
                request_new_verdicts([event.pk for event in waiting if event.status == EventStatus.PROCESSED], at=at)
            )
            self._asked |= asked
            self.leads_on |= bool(asked) or len(late) == AGAIN_MOST
            advance_events([event.pk for event in (*late, *waiting)], at)
            canceling = [event.pk for event in late if event.status == EventStatus.CANCELING]
            release_rows(take_step("35.5", rows, canceling, at=at, ended_at=at))
            done = {event.pk for event in late if event.status == EventStatus.CANCELED and _is_confirmed(event)}
            with_ids(WriterEvent.objects.all(), done).update(again_at=None)
        return [event for event in (*late, *waiting) if event.pk not in done | asked]

    def _waiting_allowed(self, at: datetime) -> int:
        """Return how many events that wait may be asked about now: all at once would keep the readers from the line.

        Once readers agree to what they had refused, more of them follow at once.
        """
        if self._asked:
            still = with_ids(WriterEvent.objects.all(), self._asked).filter(is_waiting=True, again_at__gt=at)
            unanswered = set(still.values_list("pk", flat=True))
            ended = with_ids(WriterEvent.objects.all(), self._asked).filter(is_waiting=False)
            self._pace.have_helped(ended.count())
            self._asked = unanswered
        return self._pace.allowed()


def _is_confirmed(event: WriterEvent) -> bool:
    """Say whether every reader has; one that is not configured any more never will."""
    return not event.readers.filter(name__in=reader_names(), ended_at__isnull=True).exists()
