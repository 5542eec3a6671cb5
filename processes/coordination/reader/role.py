"""The role Reader: stores what it receives of an event, judges it, and changes its tables at the commit."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import structlog
from django.db import transaction
from django.db.models import Count, QuerySet

from config.common.database.batches import run_or_bisect
from config.common.database.bulk_insert import insert_rows
from config.common.database.sql import in_number_array
from processes.coordination.bus import Bus
from processes.coordination.protocol.database_errors import FailureKind, classify_error, describe_error
from processes.coordination.protocol.messages import (
    COORDINATOR,
    Message,
    MessageType,
    OutgoingMessage,
    header_columns,
    queue_of_reader,
    split_pages,
)
from processes.coordination.protocol.role import BATCH, Handler, Role, event_ids, has_follow_up
from processes.coordination.protocol.row_changes import (
    RowChange,
    UnreadablePayload,
    decode_change,
    fold_changes,
)
from processes.coordination.protocol.statuses import FINAL, EventStatus, PayloadStatus
from processes.coordination.protocol.steps import (
    mark_published,
    note_step,
    step_times,
    take_step,
    text_by_row,
    with_ids,
)
from processes.coordination.protocol.transitions import BY_NUMBER, PUBLISHING, RoleKind
from processes.coordination.reader.apply import apply_changes, judge_events, read_commit_rows
from processes.coordination.reader.models import COMMITS, ROLLBACKS, AppEvent, AppEventPayload, ReaderState
from processes.coordination.reader.retries import BusyRetries, UnusableMessages
from processes.coordination.schema.entities import ENTITIES, type_names
from processes.coordination.schema.routing import reader_alias
from processes.coordination.schema.tables import attribute_columns

TYPES = type_names()
PAYLOADS_MOST = 10 * BATCH
"""Payloads of one turn: one message may hold a page of them."""
_PUBLISHED_WITH = {
    EventStatus.CREATED: (PayloadStatus.CREATED, "21"),
    EventStatus.PROCESSED: (PayloadStatus.PROCESSED, "29"),
}
"""By the status of an event, the payloads that are published in the same turn, and the step of that."""

log = structlog.get_logger(__name__)


class Reader(Role):
    def __init__(self, bus: Bus, name: str = "main") -> None:
        super().__init__(bus)
        self.reader = name
        self.name = f"reader/{name}"
        self.queue = queue_of_reader(name)
        self.alias = reader_alias(name)
        self._busy_retries = BusyRetries()
        self._unusable = UnusableMessages()

    @property
    def events(self) -> "QuerySet[AppEvent]":
        return AppEvent.objects.using(self.alias)

    @property
    def payloads(self) -> "QuerySet[AppEventPayload]":
        return AppEventPayload.objects.using(self.alias)

    def lock_state(self) -> None:
        ReaderState.objects.using(self.alias).select_for_update().get(pk=1)

    @property
    def handlers(self) -> Mapping[MessageType, Handler]:
        return {
            MessageType.PREPARE: self._record_new_events,
            MessageType.PREPARE_PAYLOADS: self._store_payloads,
            MessageType.PROCESS: self._begin_processing,
            MessageType.CANCEL: self._cancel_events,
            MessageType.COMMIT: self._commit_events,
        }

    def act(self, at: datetime) -> bool:
        """Steps 28 and 31: judge the events that are to be processed."""
        due = self.events.filter(app_event_status_id=EventStatus.PROCESSING.value, is_published=True)
        due = due.exclude(pk__in=self._busy_retries.resting())
        if not due.exists():
            return False
        due_now = due.order_by("position").values_list("pk", "payload_count")
        events: list[int] = []
        try:
            with transaction.atomic(using=self.alias):
                self.lock_state()
                events = self._busy_retries.portion(next(_portions(due_now[:BATCH]), []))
                self._process(events, at)
        except Exception as error:
            if classify_error(error) is not FailureKind.BUSY or not events:
                raise
            log.warning("coordination.put_off", role=self.name, events=len(events), error=str(error))
            self._busy_retries.note(events, describe_error(error))
        else:
            self._busy_retries.clear(events)
        self.continues = True  # there may be more than one portion
        return bool(events)

    def reject_message(self, message: Message, error: Exception) -> list[OutgoingMessage]:
        """Refuse the event of a message that cannot be handled: the Coordinator would wait for an answer in vain."""
        if message.type == MessageType.CANCEL:  # nothing of it is applied anyway, and it is sent again
            return super().reject_message(message, error)
        log.exception("coordination.message_refused", role=self.name, told=message.type, about=message.event)
        self._unusable.note(message.event, describe_error(error))
        return [self._refusal(message.event, describe_error(error))]

    def publish(self, at: datetime) -> bool:
        """Steps 17, 21, 26, 29, 32, 34.4 and 35.4: send the messages of unpublished rows."""
        unpublished = self.payloads.filter(is_published=False).order_by("pk")
        payloads = list(unpublished.only("pk", "app_event_id", "app_event_payload_status_id")[:PAYLOADS_MOST])
        events = list(self.events.filter(is_published=False).order_by("pk").defer("steps")[:BATCH])
        messages = self._build_payload_messages(payloads) + [self._build_message(event) for event in events]
        if messages:
            self.bus.send(messages)
        self._mark_sent(payloads, events, at)
        self.continues |= has_follow_up(RoleKind.READER, events, payloads)
        return bool(events or payloads)

    def _record_new_events(self, messages: list[Message], at: datetime) -> list[OutgoingMessage]:
        """Step 16: insert the events that are new; publish the others again."""
        self._publish_again(self._insert_new(messages, at))
        return []

    def _store_payloads(self, messages: list[Message], at: datetime) -> list[OutgoingMessage]:
        """Step 20: insert the payloads that are new, and their events; publish the others again."""
        known = self._insert_new(messages, at)
        past = {pk for pk, status in known.items() if status != EventStatus.CREATED}
        payloads = {
            payload.id: (message.event, payload.content) for message in messages for payload in message.payloads
        }
        new = {pk: payload for pk, payload in payloads.items() if payload[0] not in past}
        insert_rows(
            AppEventPayload,
            {
                "id": list(new),
                "app_event_id": [event for event, _ in new.values()],
                "content": [content for _, content in new.values()],
            },
            same={"date": at},
            alias=self.alias,
            update=("is_published",),  # those that are here are published again
        )
        if len(new) < len(payloads):
            with_ids(self.payloads, payloads.keys() - new.keys()).update(is_published=False)
        note_step("20", self.events, sorted(set(event_ids(messages)) - past), at=at)
        return []

    def _begin_processing(self, messages: list[Message], at: datetime) -> list[OutgoingMessage]:
        """Step 25: begin to process events whose payloads are all here; a refused event is judged once more."""
        events = event_ids(messages)
        whole = self._find_whole(events)
        self._reopen_refused(events)
        begun = take_step("25", self.events, whole, at=at)
        self._publish_again(set(events).difference(begun))
        return self._answer_unknown(set(events) - set(whole))

    def _commit_events(self, messages: list[Message], at: datetime) -> list[OutgoingMessage]:
        """Step 34.3: change the tables by the commit rows, all events together; one that fails harms no other.

        An event that is refused here was lost, and judged anew after all had agreed: it is judged once more.
        """
        events = event_ids(messages)
        rows = with_ids(self.events, events).order_by("position")
        known = list(rows.values_list("pk", "app_event_status_id", "payload_count"))
        committed = [pk for pk, status, _ in known if status == EventStatus.COMMITTED]
        self._publish_again(committed)
        reopened = self._reopen_refused(events)
        take_step("25", self.events, reopened, at=at)
        processed = {pk: count for pk, status, count in known if status in BY_NUMBER["34.3"].only_from}
        ready = ((pk, count) for pk, count in processed.items() if pk not in reopened)
        answers = [answer for portion in _portions(ready) for answer in self._commit(portion, at)]
        return answers + self._answer_unknown(set(events).difference(committed, processed))

    def _cancel_events(self, messages: list[Message], at: datetime) -> list[OutgoingMessage]:
        """Step 35.3: delete the commit and rollback rows of events.

        An event that is not here yet is inserted as cancelled, so that a late message cannot begin it.
        """
        events = event_ids(messages)
        self._publish_again(events)
        for table in (*COMMITS.values(), *ROLLBACKS.values()):
            rows = table.objects.using(self.alias).filter(app_event_id__in=events)
            rows._raw_delete(self.alias)
        self.payloads.filter(app_event_id__in=events).update(is_published=True)
        take_step("35.3", self.events, events, at=at)
        canceled = EventStatus.CANCELED.value
        self.events.bulk_create(
            (AppEvent(pk=pk, date=at, app_event_status_id=canceled) for pk in events),
            ignore_conflicts=True,
        )
        return []

    def _insert_new(self, messages: list[Message], at: datetime) -> dict[int, EventStatus]:
        """Insert the events that are new; return the statuses of those that were here."""
        known = {
            pk: EventStatus(status)
            for pk, status in with_ids(self.events, event_ids(messages)).values_list("pk", "app_event_status_id")
        }
        headers = {message.event: message.header for message in messages if message.header is not None}
        new = {pk: header for pk, header in sorted(headers.items()) if pk not in known}
        steps = step_times(at, "16")
        columns = header_columns(new)
        columns["app_event_type_id"] = [type if type in TYPES else None for type in columns["app_event_type_id"]]
        insert_rows(AppEvent, columns, same={"steps": steps}, alias=self.alias, unless_there=True)
        return known

    def _publish_again(self, ids: Collection[int]) -> None:
        if ids:
            with_ids(self.events, ids).update(is_published=False)

    def _reopen_refused(self, ids: list[int]) -> list[int]:
        """Reopen refused events for another judgement; return them."""
        processed = with_ids(self.events, ids).filter(app_event_status_id=EventStatus.PROCESSED.value)
        refused = list(processed.exclude(reason="").values_list("pk", flat=True))
        if refused:
            with_ids(self.events, refused).update(app_event_status_id=EventStatus.CREATED.value, reason="")
        return refused

    def _find_whole(self, ids: list[int]) -> list[int]:
        """Return the events whose payloads are all here."""
        payloads = self.payloads.filter(app_event_id__in=in_number_array(ids, alias=self.alias))
        counts = dict(payloads.values("app_event_id").annotate(count=Count("pk")).values_list("app_event_id", "count"))
        found = with_ids(self.events, ids).values_list("pk", "payload_count", "app_event_status_id")
        # Of an event that came by a cancellation alone there is nothing to be whole.
        return [pk for pk, count, status in found if counts.get(pk, 0) == count or status in FINAL]

    def _answer_unknown(self, ids: Collection[int]) -> list[OutgoingMessage]:
        refused = self._unusable.reasons()
        return [
            self._refusal(pk, refused[pk])
            if pk in refused
            else (COORDINATOR, Message(MessageType.UNKNOWN, event=pk, role=self.reader))
            for pk in sorted(ids)
        ]

    def _refusal(self, event: int, reason: str) -> OutgoingMessage:
        return COORDINATOR, Message(MessageType.PROCESSED, event=event, role=self.reader, reason=reason)

    def _process(self, events: list[int], at: datetime) -> None:
        """Steps 28 and 31: judge whether the payloads could be applied, and insert commit and rollback rows of them."""
        rows = self.payloads.filter(app_event_id__in=in_number_array(events, alias=self.alias))
        sets, reasons = _read_sets(events, rows.order_by("pk").values_list("app_event_id", "content"))
        reasons |= self._busy_retries.exhausted(sets)
        reasons |= judge_events({event: sets[event] for event in sets if event not in reasons}, alias=self.alias)
        reasons |= self._store_changes_in_halves(
            {event: changes for event, changes in sets.items() if not reasons[event]}
        )
        rows.filter(app_event_payload_status_id=PayloadStatus.CREATED.value).update(
            app_event_payload_status_id=PayloadStatus.PROCESSED.value, is_published=False
        )
        agreed = [event for event in events if not reasons[event]]
        take_step("31", self.events, agreed, at=at, noting=["28"], reason="")
        refused = {event: reasons[event][:500] for event in events if reasons[event]}
        if refused:
            self._store_refused({event: sets[event] for event in refused if event in sets})
            take_step("31", self.events, list(refused), at=at, noting=["28"], reason=text_by_row(refused))

    def _store_changes_in_halves(self, sets: Mapping[int, list[RowChange]]) -> dict[int, str]:
        """Insert commit and rollback rows; return the errors of the events whose rows cannot be inserted."""

        def store(events: Sequence[int]) -> dict[int, str]:
            with transaction.atomic(using=self.alias):
                self._store_changes({event: sets[event] for event in events})
            return {}

        parts = run_or_bisect(
            list(sets),
            store,
            lambda event, error: {event: describe_error(error)},
            is_of_item=lambda error: classify_error(error) is FailureKind.FINAL,
        )
        return {event: reason for part in parts for event, reason in part.items()}

    def _store_refused(self, sets: Mapping[int, list[RowChange]]) -> None:
        """Insert the rows of refused events as well, unless they were refused for values that no row can have."""
        for event, reason in self._store_changes_in_halves(sets).items():
            log.warning("coordination.not_kept", about=event, error=reason)

    def _store_changes(self, sets: Mapping[int, list[RowChange]]) -> None:
        """Insert commit and rollback rows."""
        for entity in ENTITIES:
            of_it = [(event, each) for event, changes in sets.items() for each in changes if each.entity is entity]
            if not of_it:
                continue
            keys = {"app_event_id": [event for event, _ in of_it], "entity_id": [each.id for _, each in of_it]}
            after = attribute_columns(entity, [each.after for _, each in of_it])
            before = attribute_columns(entity, [each.before for _, each in of_it])
            insert_rows(COMMITS[entity.name], keys | after, alias=self.alias, unless_there=True)
            insert_rows(ROLLBACKS[entity.name], keys | before, alias=self.alias, unless_there=True)

    def _commit(self, events: list[int], at: datetime) -> list[OutgoingMessage]:
        """Apply events together, else in halves; return the refusal of one that fails: its commit is sent again."""

        def commit(part: Sequence[int]) -> list[OutgoingMessage]:
            with transaction.atomic(using=self.alias):
                apply_changes(read_commit_rows(*part, alias=self.alias), alias=self.alias)
                take_step("34.3", self.events, list(part), at=at)
            return []

        def refuse(event: int, error: Exception) -> list[OutgoingMessage]:
            log.warning("coordination.not_applied", role=self.name, about=event, error=str(error))
            return [self._refusal(event, describe_error(error))]

        parts = run_or_bisect(
            events, commit, refuse, is_of_item=lambda error: classify_error(error) is not FailureKind.AWAY
        )
        return [message for part in parts for message in part]

    def _build_payload_messages(self, rows: list[AppEventPayload]) -> list[OutgoingMessage]:
        types = {
            PayloadStatus.CREATED: MessageType.PAYLOADS_PREPARED,
            PayloadStatus.PROCESSED: MessageType.PAYLOADS_PROCESSED,
        }
        grouped: defaultdict[tuple[int, MessageType], list[int]] = defaultdict(list)
        for row in rows:
            grouped[row.app_event_id, types[row.status]].append(row.pk)
        return [
            (COORDINATOR, Message(type, event=event, role=self.reader, ids=page))
            for (event, type), ids in grouped.items()
            for page in split_pages(ids)
        ]

    def _build_message(self, event: AppEvent) -> OutgoingMessage:
        step = PUBLISHING[RoleKind.READER][event.status]
        assert step.sends is not None
        reason = event.reason if event.status == EventStatus.PROCESSED else ""
        return COORDINATOR, Message(step.sends, event=event.pk, role=self.reader, reason=reason)

    def _mark_sent(self, payloads: list[AppEventPayload], events: list[AppEvent], at: datetime) -> None:
        sent = {number: self._mark_payloads(payloads, status) for status, number in _PUBLISHED_WITH.values()}
        for status, step in PUBLISHING[RoleKind.READER].items():
            of_status = {event.pk for event in events if event.status == status}
            if status in _PUBLISHED_WITH:
                number = _PUBLISHED_WITH[status][1]
                both = of_status & sent[number]
                mark_published(step, self.events, sorted(both), at=at, noting=[number])
                note_step(number, self.events, sorted(sent[number] - both), at=at)
                of_status -= both
            mark_published(step, self.events, sorted(of_status), at=at)

    def _mark_payloads(self, payloads: list[AppEventPayload], of: PayloadStatus) -> set[int]:
        """Mark the payloads of one status as published; return their events."""
        sent = [row for row in payloads if row.app_event_payload_status_id == of]
        if sent:
            still = with_ids(self.payloads, [row.pk for row in sent]).filter(app_event_payload_status_id=of.value)
            still.update(is_published=True)
        return {row.app_event_id for row in sent}


def _portions(counted: Iterable[tuple[int, int]]) -> Iterator[list[int]]:
    """Cut events into portions of so many payloads at most, and one event at least."""
    portion, total = list[int](), 0
    for event, count in counted:
        if portion and total + count > PAYLOADS_MOST:
            yield portion
            portion, total = [], 0
        portion.append(event)
        total += count
    if portion:
        yield portion


def _read_sets(
    events: Iterable[int], contents: Iterable[tuple[int, str]]
) -> tuple[dict[int, list[RowChange]], dict[int, str]]:
    """Return what the payloads of each event change; and why, of those that cannot be read."""
    by_event: dict[int, list[str]] = {event: [] for event in events}
    for event, content in contents:
        by_event[event].append(content)
    sets: dict[int, list[RowChange]] = {}
    reasons: dict[int, str] = {}
    for event, of_event in by_event.items():
        try:
            sets[event] = fold_changes(map(decode_change, of_event))
        except UnreadablePayload as unreadable:
            reasons[event] = str(unreadable)
    return sets, reasons
