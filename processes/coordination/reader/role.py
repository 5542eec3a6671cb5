"""A Reader as a participant: keeps what it is told of an event, judges it, and changes its tables at the commit."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime

from django.db import DataError, IntegrityError, transaction
from django.db.models import Count, QuerySet

from config.common.moments import parse_moment
from processes.coordination.bus import Bus
from processes.coordination.content import RowChange, Unreadable, fold, read_content
from processes.coordination.entities import ENTITIES
from processes.coordination.messages import COORDINATOR, Letter, Message, Told, pages, queue_of_reader
from processes.coordination.reader.applying import Refused, apply_changes, read_commits, try_changes
from processes.coordination.reader.models import COMMITS, ROLLBACKS, AppEvent, AppEventPayload, ReaderState
from processes.coordination.role import MOST, Handler, Role, events_of
from processes.coordination.routing import alias_of
from processes.coordination.statuses import EventStatus, PayloadStatus
from processes.coordination.steps import mark_told, note, note_only, take
from processes.coordination.tables import columns_of
from processes.coordination.transitions import BY_NUMBER, TELLING, RoleKind

PROCESSING_MOST = 100


class Reader(Role):
    def __init__(self, bus: Bus, name: str = "main") -> None:
        super().__init__(bus)
        self.reader = name
        self.name = f"reader/{name}"
        self.queue = queue_of_reader(name)
        self.alias = alias_of(name)

    @property
    def events(self) -> "QuerySet[AppEvent]":
        return AppEvent.objects.using(self.alias)

    @property
    def payloads(self) -> "QuerySet[AppEventPayload]":
        return AppEventPayload.objects.using(self.alias)

    def hold(self) -> None:
        ReaderState.objects.using(self.alias).select_for_update().get(pk=1)

    @property
    def handlers(self) -> Mapping[Told, Handler]:
        return {
            Told.PREPARE: self._step_16,
            Told.PREPARE_PAYLOADS: self._step_20,
            Told.PROCESS: self._step_25,
            Told.CANCEL: self._step_35_3,
            Told.COMMIT: self._step_34_3,
        }

    def act(self, at: datetime) -> bool:
        """Steps 28 and 31: judge the events that are to be processed."""
        due = self.events.filter(app_event_status_id=EventStatus.PROCESSING.value, is_published=True)
        if not due.exists():
            return False
        with transaction.atomic(using=self.alias):
            self.hold()
            events = list(due.order_by("position")[:PROCESSING_MOST])
            for event in events:
                self._process(event, at)
        return bool(events)

    def tell(self, at: datetime) -> bool:
        """Steps 17, 21, 26, 29, 32, 34.4 and 35.4."""
        payloads = list(self.payloads.filter(is_published=False).order_by("pk")[:MOST])
        events = list(self.events.filter(is_published=False).order_by("pk")[:MOST])
        letters = self._payload_letters(payloads) + [self._letter(event) for event in events]
        if letters:
            self.bus.send(letters)
        self._mark(payloads, events, at)
        return len(events) == MOST or len(payloads) == MOST

    def _step_16(self, messages: list[Message], at: datetime) -> list[Letter]:
        """Add the events that are not here; of the others say again how far they are."""
        self._tell_again(events_of(messages))
        self._add(messages, at)
        return []

    def _step_20(self, messages: list[Message], at: datetime) -> list[Letter]:
        self._add(messages, at)
        wanted = [payload.id for message in messages for payload in message.payloads]
        self.payloads.filter(pk__in=wanted).update(is_published=False)
        open_events = set(
            self.events.filter(pk__in=events_of(messages), app_event_status_id=EventStatus.CREATED.value).values_list(
                "pk", flat=True
            )
        )
        self.payloads.bulk_create(
            (
                AppEventPayload(pk=payload.id, app_event_id=message.event, date=at, content=payload.content)
                for message in messages
                if message.event in open_events
                for payload in message.payloads
            ),
            ignore_conflicts=True,
        )
        note_only("20", self.events, sorted(open_events), at=at)
        return []

    def _step_25(self, messages: list[Message], at: datetime) -> list[Letter]:
        """Begin to process what is here as a whole; a refused event is judged once more."""
        wanted = events_of(messages)
        whole = self._whole(wanted)
        self._tell_again(wanted)
        self._reopen_refused(wanted)
        take("25", self.events, whole, at=at)
        return self._unknown(set(wanted) - set(whole))

    def _step_34_3(self, messages: list[Message], at: datetime) -> list[Letter]:
        """Change the tables by the commit rows: each event by itself, so that one that fails harms no other.

        One that is refused here was lost and judged anew after all had agreed: it is judged once more.
        """
        wanted = events_of(messages)
        known = self.events.filter(pk__in=wanted)
        self._tell_again(known.filter(app_event_status_id=EventStatus.COMMITTED.value).values_list("pk", flat=True))
        reopened = self._reopen_refused(wanted)
        take("25", self.events, reopened, at=at)
        ready = known.filter(app_event_status_id__in=[each.value for each in BY_NUMBER["34.3"].only_from])
        letters: list[Letter] = []
        for event in ready.order_by("position"):
            letters += self._commit(event, at)
        past = known.filter(app_event_status_id__in=[EventStatus.COMMITTED.value, EventStatus.PROCESSED.value])
        return letters + self._unknown(set(wanted) - set(past.values_list("pk", flat=True)) - set(reopened))

    def _step_35_3(self, messages: list[Message], at: datetime) -> list[Letter]:
        """Drop the rows of the events; one that is not here yet is kept as cancelled, so that it cannot come later."""
        wanted = events_of(messages)
        self._tell_again(wanted)
        for table in (*COMMITS.values(), *ROLLBACKS.values()):
            rows = table.objects.using(self.alias).filter(app_event_id__in=wanted)
            rows._raw_delete(self.alias)
        self.payloads.filter(app_event_id__in=wanted).update(is_published=True)
        take("35.3", self.events, wanted, at=at)
        canceled = EventStatus.CANCELED.value
        self.events.bulk_create(
            (AppEvent(pk=pk, date=at, app_event_type_id=0, app_event_status_id=canceled) for pk in wanted),
            ignore_conflicts=True,
        )
        return []

    def _add(self, messages: list[Message], at: datetime) -> None:
        headers = {message.event: message.header for message in messages if message.header is not None}
        self.events.bulk_create(
            (
                AppEvent(
                    pk=pk,
                    position=header.position,
                    date=parse_moment(header.date),
                    correlation_id=header.correlation_id,
                    app_event_type_id=header.type,
                    payload_count=header.payloads,
                )
                for pk, header in sorted(headers.items())
            ),
            ignore_conflicts=True,
        )
        note_only("16", self.events, list(headers), at=at)

    def _tell_again(self, ids: Collection[int]) -> None:
        self.events.filter(pk__in=list(ids)).update(is_published=False)

    def _reopen_refused(self, ids: list[int]) -> list[int]:
        """Let refused events be judged once more; return them."""
        processed = self.events.filter(pk__in=ids, app_event_status_id=EventStatus.PROCESSED.value)
        refused = list(processed.exclude(reason="").values_list("pk", flat=True))
        self.events.filter(pk__in=refused).update(app_event_status_id=EventStatus.CREATED.value, reason="")
        return refused

    def _whole(self, ids: list[int]) -> list[int]:
        """Return the events whose payloads are all here."""
        counts = dict(
            self.payloads.filter(app_event_id__in=ids)
            .values("app_event_id")
            .annotate(count=Count("pk"))
            .values_list("app_event_id", "count")
        )
        found = self.events.filter(pk__in=ids)
        # Of an event that came by a cancellation alone there is nothing to be whole.
        return [event.pk for event in found if counts.get(event.pk, 0) == event.payload_count or event.is_over]

    def _unknown(self, ids: Collection[int]) -> list[Letter]:
        return [(COORDINATOR, Message(Told.UNKNOWN, event=pk, role=self.reader)) for pk in sorted(ids)]

    def _process(self, event: AppEvent, at: datetime) -> None:
        """Steps 28 and 31: make commit and rollback rows of the payloads, and judge whether they could be applied."""
        rows = self.payloads.filter(app_event_id=event.pk)
        contents = rows.order_by("pk").values_list("content", flat=True)
        try:
            changes = fold(read_content(content) for content in contents)
        except Unreadable as unreadable:
            changes, reason = [], str(unreadable)
        else:
            reason = try_changes(changes, alias=self.alias)
        self._keep_changes(event, changes)
        rows.filter(app_event_payload_status_id=PayloadStatus.CREATED.value).update(
            app_event_payload_status_id=PayloadStatus.PROCESSED.value, is_published=False
        )
        self.events.filter(pk=event.pk).update(steps=note(at, "28"))
        take("31", self.events, [event.pk], at=at, reason=reason[:500])

    def _keep_changes(self, event: AppEvent, changes: list[RowChange]) -> None:
        """Write commit and rollback rows."""
        for entity in ENTITIES:
            of_it = [each for each in changes if each.entity is entity]
            if not of_it:
                continue
            for table, side in ((COMMITS[entity.name], "after"), (ROLLBACKS[entity.name], "before")):
                table.objects.using(self.alias).bulk_create(
                    (
                        table(app_event_id=event.pk, entity_id=each.id, **columns_of(entity, getattr(each, side)))
                        for each in of_it
                    ),
                    ignore_conflicts=True,
                )

    def _commit(self, event: AppEvent, at: datetime) -> list[Letter]:
        """Step 34.3 for one event. Should it fail, that is told; the event stays, and is told to be committed again."""
        try:
            with transaction.atomic(using=self.alias):
                apply_changes(read_commits(event.pk, alias=self.alias), alias=self.alias)
                take("34.3", self.events, [event.pk], at=at)
        except (Refused, IntegrityError, DataError) as error:
            told = Message(Told.PROCESSED, event=event.pk, role=self.reader, reason=str(error)[:500])
            return [(COORDINATOR, told)]
        return []

    def _payload_letters(self, rows: list[AppEventPayload]) -> list[Letter]:
        told = {PayloadStatus.CREATED: Told.PAYLOADS_PREPARED, PayloadStatus.PROCESSED: Told.PAYLOADS_PROCESSED}
        grouped: defaultdict[tuple[int, Told], list[int]] = defaultdict(list)
        for row in rows:
            grouped[row.app_event_id, told[PayloadStatus(row.app_event_payload_status_id)]].append(row.pk)
        return [
            (COORDINATOR, Message(kind, event=event, role=self.reader, ids=page))
            for (event, kind), ids in grouped.items()
            for page in pages(ids)
        ]

    def _letter(self, event: AppEvent) -> Letter:
        step = TELLING[RoleKind.READER][event.status]
        assert step.tells is not None
        reason = event.reason if event.status == EventStatus.PROCESSED else ""
        return COORDINATOR, Message(step.tells, event=event.pk, role=self.reader, reason=reason)

    def _mark(self, payloads: list[AppEventPayload], events: list[AppEvent], at: datetime) -> None:
        for kept, number in ((PayloadStatus.CREATED, "21"), (PayloadStatus.PROCESSED, "29")):
            told = [row for row in payloads if row.app_event_payload_status_id == kept]
            if told:
                still = self.payloads.filter(pk__in=[row.pk for row in told], app_event_payload_status_id=kept.value)
                still.update(is_published=True)
                note_only(number, self.events, sorted({row.app_event_id for row in told}), at=at)
        for status, step in TELLING[RoleKind.READER].items():
            mark_told(step, self.events, [event.pk for event in events if event.status == status], at=at)
