"""The Writer as a participant: tells of its events, gives their payloads, hears what became of them."""

from collections.abc import Mapping
from datetime import datetime

from django.db.models import QuerySet

from config.common.moments import format_moment
from config.common.sql import among_numbers
from processes.coordination.messages import COORDINATOR, WRITER, Header, Letter, Message, Payload, Told, pages
from processes.coordination.models import AppEvent, AppEventPayload, WriterState
from processes.coordination.role import MOST, Handler, Role, events_of
from processes.coordination.statuses import EventStatus, PayloadStatus
from processes.coordination.steps import AGAIN, mark_told, note_only, take
from processes.coordination.transitions import BY_NUMBER, TELLING, RoleKind
from processes.coordination.writer.compensating import cancel, tell_committed
from processes.coordination.writer.numbering import number_once
from processes.coordination.writer.registry import fill_once

AGAIN_MOST = 100


class Writer(Role):
    name = "writer"
    queue = WRITER
    alias = "default"

    def hold(self) -> None:
        WriterState.objects.select_for_update().get(pk=1)

    @property
    def handlers(self) -> Mapping[Told, Handler]:
        return {
            Told.SAVING_BEGINS: self._step_5,
            Told.PAYLOADS_WANTED: self._step_7,
            Told.PAYLOADS_SAVED: self._step_10,
            Told.SAVING_ENDED: self._step_13,
            Told.EVENT_COMMITTED: self._step_34_7,
            Told.EVENT_CANCELED: self._step_35_7,
        }

    def act(self, at: datetime) -> bool:
        found = fill_once(at=at)
        return number_once() or found

    def tell(self, at: datetime) -> bool:
        """Step 2, in the order of the positions; and once more for what has stayed in one status for long."""
        step = TELLING[RoleKind.WRITER][EventStatus.CREATED]
        known = AppEvent.objects.filter(position__isnull=False, changes__isnull=True)
        new = known.filter(is_published=False, app_event_status_id=EventStatus.CREATED.value)
        events = list(new.order_by("position")[:MOST])
        late = list(known.filter(again_at__lte=at).order_by("again_at")[:AGAIN_MOST])
        if events or late:
            self.bus.send([(COORDINATOR, _created(event)) for event in (*events, *late)])
            mark_told(step, AppEvent.objects.all(), [event.pk for event in events], at=at, again_at=at + AGAIN)
            AppEvent.objects.filter(pk__in=[event.pk for event in late], again_at__isnull=False).update(
                again_at=at + AGAIN
            )
        return len(events) == MOST

    def _step_5(self, messages: list[Message], at: datetime) -> list[Letter]:
        take("5", AppEvent.objects.all(), events_of(messages), at=at, again_at=at + AGAIN)
        return []

    def _step_7(self, messages: list[Message], at: datetime) -> list[Letter]:
        """Answer with all payloads of the events, page by page; the last page says that it is the last."""
        wanted = events_of(messages)
        rows = AppEventPayload.objects.filter(app_event_id__in=among_numbers(wanted)).order_by("pk")
        found: dict[int, list[Payload]] = {event: [] for event in wanted}
        for pk, event, content in rows.values_list("pk", "app_event_id", "content"):
            found[event].append(Payload(pk, content))
        note_only("7", AppEvent.objects.all(), wanted, at=at)
        letters: list[Letter] = []
        for event, payloads in found.items():
            for page in pages(payloads):
                letters.append((COORDINATOR, Message(Told.PAYLOADS, event=event, payloads=page)))
            letters.append((COORDINATOR, Message(Told.PAYLOADS, event=event, is_last=True)))
        return letters

    def _step_10(self, messages: list[Message], at: datetime) -> list[Letter]:
        ids = [pk for message in messages for pk in message.ids]
        _mark_saved(AppEventPayload.objects.filter(pk__in=among_numbers(ids)))
        note_only("10", AppEvent.objects.all(), events_of(messages), at=at)
        return []

    def _step_13(self, messages: list[Message], at: datetime) -> list[Letter]:
        take("13", AppEvent.objects.all(), events_of(messages), at=at, again_at=at + AGAIN)
        _mark_saved_of(events_of(messages))
        return []

    def _step_34_7(self, messages: list[Message], at: datetime) -> list[Letter]:
        ended = {"again_at": None, "ended_at": at}
        done = take("34.7", AppEvent.objects.all(), events_of(messages), at=at, **ended)
        _mark_saved_of(done)
        tell_committed(AppEvent.objects.filter(pk__in=done).order_by("pk"), at=at)
        return []

    def _step_35_7(self, messages: list[Message], at: datetime) -> list[Letter]:
        """Take the newest back first: it may have been built upon those before it."""
        reasons = {message.event: message.reason for message in messages}
        waiting = AppEvent.objects.select_for_update().filter(
            pk__in=list(reasons), app_event_status_id__in=[each.value for each in BY_NUMBER["35.7"].only_from]
        )
        for event in waiting.order_by("-pk"):
            cancel(event, reason=reasons[event.pk], at=at)
        _mark_saved_of(list(reasons))
        return []


def _mark_saved_of(events: list[int]) -> None:
    """Whatever was lost of step 10: the Coordinator has all payloads of an event that has come so far."""
    if events:
        _mark_saved(AppEventPayload.objects.filter(app_event_id__in=among_numbers(events)))


def _mark_saved(payloads: "QuerySet[AppEventPayload]") -> None:
    payloads.filter(app_event_payload_status_id=PayloadStatus.CREATED.value).update(
        app_event_payload_status_id=PayloadStatus.SAVED.value
    )


def _created(event: AppEvent) -> Message:
    assert event.position is not None
    header = Header(
        position=event.position,
        type=event.app_event_type_id,
        date=format_moment(event.date),
        correlation_id=event.correlation_id,
        payloads=event.payload_count,
        is_undone=event.is_undone,
    )
    return Message(Told.EVENT_CREATED, event=event.pk, header=header)
