"""The Coordinator as a participant: leads each event from the Writer through all readers to its end."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import transaction

from processes.coordination.bus import Bus
from processes.coordination.coordinator.activation import activate, include_new_readers, learn_positions
from processes.coordination.coordinator.answers import hear_answers, hear_of_unknown, look_anew
from processes.coordination.coordinator.deciding import ask_again, decide, meet_deadlines
from processes.coordination.coordinator.letters import letters_of
from processes.coordination.coordinator.life import hear_of_life, tick
from processes.coordination.coordinator.line import release
from processes.coordination.coordinator.saving import (
    hear_of_events,
    keep_payloads,
    tell_of_payloads,
    untold_payloads,
)
from processes.coordination.messages import COORDINATOR, Told
from processes.coordination.models import CoordinatorState, WriterEvent, WriterEventPayload
from processes.coordination.pace import Pace
from processes.coordination.role import MOST, Handler, Role, does_lead_on
from processes.coordination.routing import reader_names
from processes.coordination.statuses import FINAL, EventStatus, PayloadStatus
from processes.coordination.steps import AGAIN, mark_told, note_only, take, those
from processes.coordination.transitions import TELLING, RoleKind

AGAIN_MOST = 500
WAITING_PER_SECOND = 20
WAITING_AT_ONCE = 100
"""Events that wait, asked about again: each costs a reader a judgement by itself."""
ACTED_UPON = {Told.EVENT_CREATED, Told.PAYLOADS, Told.PROCESSED, Told.COMMITTED, Told.CANCELED}
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
    def handlers(self) -> Mapping[Told, Handler]:
        return {
            Told.ALIVE: hear_of_life,
            Told.EVENT_CREATED: hear_of_events,
            Told.PAYLOADS: keep_payloads,
            Told.UNKNOWN: hear_of_unknown,
            Told.PREPARING_BEGINS: hear_answers,
            Told.PAYLOADS_PREPARED: hear_answers,
            Told.PROCESSING_BEGINS: hear_answers,
            Told.PAYLOADS_PROCESSED: hear_answers,
            Told.PROCESSED: hear_answers,
            Told.COMMITTED: hear_answers,
            Told.CANCELED: hear_answers,
        }

    def may_act(self, heard: set[Told], at: datetime) -> bool:
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
                include_new_readers()
            tick(state, at=at)
            learn_positions(state)
            meet_deadlines(state, at=at)
            found = decide(at=at)
            has_begun, is_shorter = activate(state, at=at)
        self._has_all_readers = True
        self.leads_on |= is_shorter  # what comes into sight now may begin
        return found or has_begun or is_shorter

    def tell(self, at: datetime) -> bool:
        """Say what the events' statuses call for, and once more what has stayed in one for long."""
        telling = TELLING[RoleKind.COORDINATOR]
        payloads = untold_payloads(MOST)
        new = WriterEvent.objects.filter(
            is_published=False, app_event_status_id__in=[status.value for status in telling]
        )
        events = list(new.order_by("position").defer("steps", "touched")[:MOST])
        late = self._late(at)
        letters = tell_of_payloads(payloads) + letters_of(events) + letters_of(late, again=True)
        if letters:
            self.bus.send(letters)
        self._mark(payloads, events, at)
        self.leads_on |= does_lead_on(RoleKind.COORDINATOR, events, payloads)
        return bool(events or payloads) or self.leads_on

    def _mark(self, payloads: list[WriterEventPayload], events: list[WriterEvent], at: datetime) -> None:
        rows = WriterEvent.objects.all()
        if payloads:
            told = those(WriterEventPayload.objects.all(), [row.pk for row in payloads])
            told.filter(app_event_payload_status_id=PayloadStatus.CREATED.value).update(is_published=True)
        saved = {row.writer_event_id for row in payloads}
        whole = {event.pk for event in events if event.status == EventStatus.SAVED} & saved
        note_only("9", rows, sorted(saved - whole), at=at)
        for status, step in TELLING[RoleKind.COORDINATOR].items():
            of_status = [event.pk for event in events if event.status == status and event.pk not in whole]
            mark_told(step, rows, of_status, at=at, noting=["6"] if status == EventStatus.CREATED else ())
            if status == EventStatus.SAVED:
                mark_told(step, rows, sorted(whole), at=at, noting=["9"])

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
            rows = those(WriterEvent.objects.all(), [event.pk for event in (*late, *waiting)])
            rows.update(again_at=at + AGAIN)
            asked = set(ask_again([event.pk for event in waiting if event.status == EventStatus.PROCESSED], at=at))
            self._asked |= asked
            self.leads_on |= bool(asked) or len(late) == AGAIN_MOST
            look_anew([event.pk for event in (*late, *waiting)], at)
            canceling = [event.pk for event in late if event.status == EventStatus.CANCELING]
            release(take("35.5", rows, canceling, at=at, ended_at=at))
            done = {event.pk for event in late if event.status == EventStatus.CANCELED and _is_confirmed(event)}
            those(WriterEvent.objects.all(), done).update(again_at=None)
        return [event for event in (*late, *waiting) if event.pk not in done | asked]

    def _waiting_allowed(self, at: datetime) -> int:
        """Return how many events that wait may be asked about now: all at once would keep the readers from the line.

        Once readers agree to what they had refused, more of them follow at once.
        """
        if self._asked:
            still = those(WriterEvent.objects.all(), self._asked).filter(is_waiting=True, again_at__gt=at)
            unanswered = set(still.values_list("pk", flat=True))
            ended = those(WriterEvent.objects.all(), self._asked).filter(is_waiting=False)
            self._pace.have_helped(ended.count())
            self._asked = unanswered
        return self._pace.allowed()


def _is_confirmed(event: WriterEvent) -> bool:
    """Say whether every reader has; one that is not configured any more never will."""
    return not event.readers.filter(name__in=reader_names(), ended_at__isnull=True).exists()
