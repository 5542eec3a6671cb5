"""Steps 18, 22, 23, 27, 30, 33, 34.5 and 35.5: record the answers of readers, and move an event when all have answered.

A reader's answer is recorded in its own row, which only moves forward; the event moves when the rows of all readers
allow it. So answers may come twice and in any order, and a later one stands for earlier ones that were lost.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Case, F, Q, When
from django.db.models.lookups import Exact
from django.utils.translation import gettext_noop

from config.common.database.sql import in_array, in_number_array
from notifications.models import Alert
from notifications.services.alerts import close_alert, raise_alert
from processes.coordination.coordinator.activation import release_rows, reserve_rows
from processes.coordination.coordinator.outgoing_messages import build_all_messages_for
from processes.coordination.coordinator.reader_progress import BatchProgress, Verdict
from processes.coordination.models import Progress, RoleLife, WriterEvent, WriterEventPayload, WriterEventReader
from processes.coordination.protocol.messages import Message, MessageType, OutgoingMessage
from processes.coordination.protocol.reasons import decode_reason
from processes.coordination.protocol.role import event_ids
from processes.coordination.protocol.statuses import FINAL, EventStatus, PayloadStatus
from processes.coordination.protocol.steps import (
    REPEAT_AFTER,
    note_step,
    steps_noted,
    take_steps,
    text_by_row,
    with_ids,
)
from processes.coordination.subjects import subject_of, subject_of_reader

SILENT = "coordination.silent"
WAITS = "coordination.waits"
CANCELED = (EventStatus.CANCELING, EventStatus.CANCELED)
_OF_PAYLOADS = (MessageType.PAYLOADS_PREPARED, MessageType.PAYLOADS_PROCESSED)
_PROGRESS = {
    MessageType.PREPARING_BEGINS: (Progress.PREPARING, Verdict.WAITING),
    MessageType.PROCESSING_BEGINS: (Progress.PROCESSING, Verdict.WAITING),
    MessageType.PROCESSED: (Progress.PROCESSED, Verdict.PROCESSED),
    MessageType.COMMITTED: (Progress.COMMITTED, Verdict.COMMITTED),
    MessageType.CANCELED: (Progress.CANCELED, Verdict.CANCELED),
}


def record_answers(messages: list[Message], at: datetime) -> list[OutgoingMessage]:
    """Record how far readers are with events and their payloads; then move the events that may go on."""
    batch = BatchProgress(event_ids(messages))
    _record_progress(messages, batch, at)
    _record_payloads(messages, batch)
    _reopen_decisions(messages, batch)
    _handle_answers_while_committing(messages, batch, at)
    _close_silence_alerts({message.role for message in messages})
    _move_events(messages, batch, at)
    return []


def advance_events(events: Collection[int], at: datetime) -> None:
    """Move events on whose last missing reader may have been taken out of the configuration."""
    _move_events([], BatchProgress(list(events)), at)


def resend_unknown_events(messages: list[Message], at: datetime) -> list[OutgoingMessage]:
    """Reset a reader's progress with events that it does not have any more, and send it all of them anew."""
    answers: list[OutgoingMessage] = []
    for role, events in _group_by_reader(messages).items():
        still = WriterEvent.objects.filter(pk__in=events).exclude(app_event_status_id__in=list(FINAL))
        under_way = list(still.exclude(app_event_status_id=EventStatus.CANCELING.value).order_by("position"))
        rows = WriterEventReader.objects.filter(name=role, writer_event__in=under_way)
        bits = set(rows.values_list("bit", flat=True))
        rows.update(progress=Progress.WAITING, verdict=Verdict.WAITING, reason="", ended_at=None)
        for bit in bits:
            WriterEventPayload.objects.filter(writer_event__in=under_way).update(
                prepared_by=F("prepared_by").bitand(~bit), processed_by=F("processed_by").bitand(~bit)
            )
        answers += build_all_messages_for(role, under_way)
    return answers


def _group_by_reader(messages: Iterable[Message]) -> dict[str, list[int]]:
    """Return the events of the messages by the reader that has sent them."""
    grouped: defaultdict[str, set[int]] = defaultdict(set)
    for message in messages:
        grouped[message.role].add(message.event)
    return {role: sorted(events) for role, events in grouped.items()}


def _record_progress(messages: Iterable[Message], batch: BatchProgress, at: datetime) -> None:
    """Update the rows of readers that have come further, each once."""
    changes: defaultdict[tuple[int, str], dict[str, Any]] = defaultdict(dict)
    refusals: defaultdict[str, dict[int, str]] = defaultdict(dict)
    answers = (message for message in messages if message.type in _PROGRESS)
    for message in sorted(answers, key=lambda message: (_PROGRESS[message.type][0], message.reason)):
        row = batch.readers[message.event].get(message.role)
        if row is None or row.progress >= _PROGRESS[message.type][0]:
            continue
        if message.type == MessageType.CANCELED and batch.statuses.get(message.event) not in CANCELED:
            continue  # CANCELED is past COMMITTED: for an event that goes on it would pass for a commit
        row.progress, row.verdict = _PROGRESS[message.type]
        values = changes[message.event, message.role]
        if message.reason:
            row.verdict = Verdict.REFUSED
            refusals[message.role][message.event] = message.reason[:500]
        elif message.type != MessageType.CANCELED:
            # A cancellation keeps the reason: it says why the reader has refused.
            values["reason"] = ""
            refusals[message.role].pop(message.event, None)
        if row.progress >= Progress.COMMITTED:
            values["ended_at"] = at
        values |= {"progress": row.progress, "verdict": row.verdict, "answered_at": at}
    _write_progress(changes)
    for role, reasons in refusals.items():
        rows = WriterEventReader.objects.filter(name=role, writer_event__in=in_number_array(reasons))
        rows.update(reason=text_by_row(reasons, by="writer_event_id"))


def _write_progress(changes: Mapping[tuple[int, str], dict[str, Any]]) -> None:
    alike: defaultdict[tuple[str, tuple[tuple[str, Any], ...]], list[int]] = defaultdict(list)
    for (event, role), values in changes.items():
        alike[role, tuple(values.items())].append(event)
    for (role, items), events in alike.items():
        rows = WriterEventReader.objects.filter(name=role, writer_event__in=in_number_array(events))
        rows.update(**dict(items))


def _record_payloads(messages: Iterable[Message], batch: BatchProgress) -> None:
    """Steps 22 and 30: record which readers have which payloads; one that has processed an event has all of them."""
    whole = {(message.event, message.role) for message in messages if message.type == MessageType.PROCESSED}
    marks: defaultdict[_Mark, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for message in messages:
        row = batch.readers[message.event].get(message.role)
        if row is None or message.type not in (MessageType.PROCESSED, *_OF_PAYLOADS):
            continue
        is_whole = message.type == MessageType.PROCESSED
        if is_whole or (message.event, message.role) not in whole:
            is_processed = message.type != MessageType.PAYLOADS_PREPARED
            mark = _Mark(row.bit, batch.mask(message.event), is_processed=is_processed, is_whole=is_whole)
            events, ids = marks[mark]
            events.append(message.event)
            ids += message.ids
    for mark, (events, ids) in marks.items():
        rows = WriterEventPayload.objects.filter(writer_event__in=in_number_array(events))
        mark.write(rows if mark.is_whole else rows.filter(pk__in=in_number_array(ids)))


@dataclass(frozen=True)
class _Mark:
    """Marks payloads as stored or processed by a reader; when all readers have, the payload moves on."""

    bit: int
    mask: int
    is_processed: bool
    is_whole: bool

    def write(self, rows: Any) -> None:
        created, prepared = PayloadStatus.CREATED.value, PayloadStatus.PREPARED.value
        prepared_by, moved = F("prepared_by").bitor(self.bit), Q(app_event_payload_status_id=created)
        moves = [When(moved & Q(Exact(prepared_by.bitand(self.mask), self.mask)), then=prepared)]
        changes: dict[str, Any] = {"prepared_by": prepared_by}
        if self.is_processed:
            processed_by = F("processed_by").bitor(self.bit)
            moved = Q(app_event_payload_status_id__in=[created, prepared])
            ended = moved & Q(Exact(processed_by.bitand(self.mask), self.mask))
            moves.insert(0, When(ended, then=PayloadStatus.PROCESSED.value))
            changes["processed_by"] = processed_by
        had = F("processed_by" if self.is_processed else "prepared_by").bitand(self.bit)
        rows.filter(Q(Exact(had, 0)) | moved).update(
            app_event_payload_status_id=Case(*moves, default=F("app_event_payload_status_id")),
            is_published=Case(*(When(move.condition, then=False) for move in moves), default=F("is_published")),
            **changes,
        )


def _handle_answers_while_committing(messages: Iterable[Message], batch: BatchProgress, at: datetime) -> None:
    """Handle verdicts about events that are committing, and so are never cancelled any more.

    A reader that cannot apply such an event needs a person; the event gives its turn to others meanwhile. A reader that
    had lost the event, and has it again, is sent the commit once more.
    """
    committing = [
        message
        for message in messages
        if message.type == MessageType.PROCESSED and batch.statuses.get(message.event) == EventStatus.COMMITTING
    ]
    for message in committing:
        if message.reason:
            _suspend_commit(message, at)
    again = sorted({message.event for message in committing if not message.reason})
    if again:
        with_ids(WriterEvent.objects.all(), again).update(is_published=False)


def _suspend_commit(message: Message, at: datetime) -> None:
    """Record why a reader cannot apply an event that all have agreed to, and alert staff; once for the same reason."""
    reason = message.reason[:500]
    rows = WriterEventReader.objects.filter(writer_event=message.event, name=message.role)
    rows = rows.filter(progress__lt=Progress.COMMITTED)
    is_known = rows.filter(writer_event__is_waiting=True, verdict=Verdict.REFUSED, reason=reason).exists()
    if not is_known and rows.update(verdict=Verdict.REFUSED, reason=reason, answered_at=at):
        detail = {"reader": message.role, "event": message.event, "reason": decode_reason(reason)}
        title = gettext_noop("Reader %(reader)s cannot apply change set %(event)s: %(reason)s")
        raise_waiting_alert(message.event, title, detail)
        mark_waiting(message.event, at=at)


def raise_waiting_alert(event: int, title: str, detail: dict[str, object]) -> None:
    """Alert staff of an event that can neither go on nor be cancelled; closed when it is committed."""
    raise_alert(WAITS, subject_of(event), title, detail)


def mark_waiting(event: int, *, at: datetime) -> None:
    """Take an event that cannot go on out of the line, so that others pass it; it is tried again."""
    WriterEvent.objects.filter(pk=event).update(
        is_waiting=True, again_at=at + REPEAT_AFTER, steps=steps_noted(at, "waits")
    )
    reserve_rows([event])


def _reopen_decisions(messages: Iterable[Message], batch: BatchProgress) -> None:
    """Publish events for a new decision that a reader has answered once more about."""
    events = event_ids(messages, MessageType.PROCESSED)
    processed = [event for event in events if batch.statuses.get(event) == EventStatus.PROCESSED]
    if processed:
        with_ids(WriterEvent.objects.all(), processed).update(is_published=False)


def _close_silence_alerts(roles: Collection[str]) -> None:
    """Close the alerts about silent readers that have answered."""
    for life in RoleLife.objects.filter(name__in=[subject_of_reader(role) for role in roles], is_silent=True):
        close_alert(SILENT, life.name, gettext_noop("It responds again."))
        RoleLife.objects.filter(pk=life.pk).update(is_silent=False)


def _move_events(messages: Iterable[Message], batch: BatchProgress, at: datetime) -> None:
    """Take the steps that the answers allow, and note those that move nothing by themselves."""
    notes = {event: ["22"] for event in event_ids(messages, MessageType.PAYLOADS_PREPARED)}
    for event in event_ids(messages, MessageType.PAYLOADS_PROCESSED):
        notes[event] = [*notes.get(event, ()), "30"]
    alike: defaultdict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = defaultdict(list)
    for event, path in batch.paths().items():
        alike[tuple(path), tuple(notes.get(event, ()))].append(event)
    rows = WriterEvent.objects.all()
    for (steps, noting), events in alike.items():
        if not steps:
            for number in noting:
                note_step(number, rows, events, at=at)
            continue
        also: dict[str, Any] = {"again_at": at + REPEAT_AFTER}
        if steps[-1] in ("34.5", "35.5"):
            also = {"again_at": None, "ended_at": at, "is_waiting": False}
        done = take_steps(steps, rows, events, at=at, noting=noting, **also)
        if steps[-1] in ("34.5", "35.5"):
            release_rows(done)
        if steps[-1] == "34.5":
            for event in find_open_waiting_alerts(done):
                close_alert(WAITS, subject_of(event))


def find_open_waiting_alerts(events: Collection[int]) -> list[int]:
    """Return the events that have an open alert because they wait."""
    by_subject = {subject_of(event): event for event in events}
    if not by_subject:
        return []
    waiting = Alert.objects.filter(kind=WAITS, subject__in=in_array(list(by_subject)))
    subjects = waiting.exclude(status=Alert.Status.RESOLVED).values_list("subject", flat=True)
    return [by_subject[subject] for subject in subjects]
