"""Steps 18, 22, 23, 27, 30, 33, 34.5, 35.5: what readers answer, and what becomes of an event when all have.

A reader's answer is kept in its own row, which only moves forward; the event moves when the rows of all readers allow
it. So answers may come twice and in any order, and one may come for others that were lost.
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
from processes.coordination.coordinator.line import release_rows, reserve_rows
from processes.coordination.coordinator.outgoing import build_all_messages_for
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
    """Keep how far readers are with events and their payloads; then move the events that all of them allow to go on."""
    standings = BatchProgress(event_ids(messages))
    _keep_progress(messages, standings, at)
    _keep_payloads(messages, standings)
    _decide_anew(messages, standings)
    _see_to_committing([message for message in messages if message.told == MessageType.PROCESSED], standings, at)
    _hear_of_silent({message.role for message in messages})
    _move(messages, standings, at)
    return []


def advance_events(events: Collection[int], at: datetime) -> None:
    """Move events on that wait for nobody any longer: a reader may have been taken out of the configuration."""
    _move([], BatchProgress(list(events)), at)


def resend_unknown_events(messages: list[Message], at: datetime) -> list[OutgoingMessage]:
    """A reader knows nothing of events it should know: forget what it has answered, and tell it all of them anew."""
    letters: list[OutgoingMessage] = []
    for role, events in _grouped(messages).items():
        still = WriterEvent.objects.filter(pk__in=events).exclude(app_event_status_id__in=list(FINAL))
        under_way = list(still.exclude(app_event_status_id=EventStatus.CANCELING.value).order_by("position"))
        rows = WriterEventReader.objects.filter(name=role, writer_event__in=under_way)
        bits = set(rows.values_list("bit", flat=True))
        rows.update(progress=Progress.WAITING, verdict=Verdict.WAITING, reason="", ended_at=None)
        for bit in bits:
            WriterEventPayload.objects.filter(writer_event__in=under_way).update(
                prepared_by=F("prepared_by").bitand(~bit), processed_by=F("processed_by").bitand(~bit)
            )
        letters += build_all_messages_for(role, under_way)
    return letters


def _grouped(messages: Iterable[Message]) -> dict[str, list[int]]:
    """Group the events by the reader that speaks of them."""
    grouped: defaultdict[str, set[int]] = defaultdict(set)
    for message in messages:
        grouped[message.role].add(message.event)
    return {role: sorted(events) for role, events in grouped.items()}


def _keep_progress(messages: Iterable[Message], standings: BatchProgress, at: datetime) -> None:
    """Write the rows of readers that have come further, each once."""
    heard: defaultdict[tuple[int, str], dict[str, Any]] = defaultdict(dict)
    refusals: defaultdict[str, dict[int, str]] = defaultdict(dict)
    progress = (message for message in messages if message.told in _PROGRESS)
    for message in sorted(progress, key=lambda message: (_PROGRESS[message.told][0], message.reason)):
        row = standings.readers[message.event].get(message.role)
        if row is None or row.progress >= _PROGRESS[message.told][0]:
            continue
        if message.told == MessageType.CANCELED and standings.statuses.get(message.event) not in CANCELED:
            continue  # of what is not cancelled here it says nothing: it must not pass for a commit
        row.progress, row.verdict = _PROGRESS[message.told]
        values = heard[message.event, message.role]
        if message.reason:
            row.verdict = Verdict.REFUSED
            refusals[message.role][message.event] = message.reason[:500]
        elif (
            message.told != MessageType.CANCELED
        ):  # why a reader refused stays known when the event is cancelled for it
            values["reason"] = ""
            refusals[message.role].pop(message.event, None)
        if row.progress >= Progress.COMMITTED:
            values["ended_at"] = at
        values |= {"progress": row.progress, "verdict": row.verdict, "answered_at": at}
    _write_progress(heard)
    for role, reasons in refusals.items():
        rows = WriterEventReader.objects.filter(name=role, writer_event__in=in_number_array(reasons))
        rows.update(reason=text_by_row(reasons, by="writer_event_id"))


def _write_progress(heard: Mapping[tuple[int, str], dict[str, Any]]) -> None:
    alike: defaultdict[tuple[str, tuple[tuple[str, Any], ...]], list[int]] = defaultdict(list)
    for (event, role), values in heard.items():
        alike[role, tuple(values.items())].append(event)
    for (role, items), events in alike.items():
        rows = WriterEventReader.objects.filter(name=role, writer_event__in=in_number_array(events))
        rows.update(**dict(items))


def _keep_payloads(messages: Iterable[Message], standings: BatchProgress) -> None:
    """Steps 22 and 30: keep which readers have which payloads. Who has processed an event has all of them."""
    whole = {(message.event, message.role) for message in messages if message.told == MessageType.PROCESSED}
    marks: defaultdict[_Mark, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for message in messages:
        row = standings.readers[message.event].get(message.role)
        if row is None or message.told not in (MessageType.PROCESSED, *_OF_PAYLOADS):
            continue
        is_whole = message.told == MessageType.PROCESSED
        if is_whole or (message.event, message.role) not in whole:
            is_processed = message.told != MessageType.PAYLOADS_PREPARED
            mark = _Mark(row.bit, standings.mask(message.event), is_processed=is_processed, is_whole=is_whole)
            events, ids = marks[mark]
            events.append(message.event)
            ids += message.ids
    for mark, (events, ids) in marks.items():
        rows = WriterEventPayload.objects.filter(writer_event__in=in_number_array(events))
        mark.write(rows if mark.is_whole else rows.filter(pk__in=in_number_array(ids)))


@dataclass(frozen=True)
class _Mark:
    """A reader has payloads, or has processed them; when all readers have, the payload moves on."""

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


def _see_to_committing(processed: list[Message], standings: BatchProgress, at: datetime) -> None:
    """Once committing an event is never cancelled: a reader that cannot apply it now needs a person.

    The event gives its turn to others meanwhile, as one that waits does. A reader that had lost the event, and has it
    again while the others commit already, is told so as well.
    """
    committing = [message for message in processed if standings.statuses.get(message.event) == EventStatus.COMMITTING]
    for message in committing:
        if message.reason:
            _let_committing_wait(message, at)
    again = sorted({message.event for message in committing if not message.reason})
    if again:
        with_ids(WriterEvent.objects.all(), again).update(is_published=False)


def _let_committing_wait(message: Message, at: datetime) -> None:
    """Keep and tell why a reader cannot apply what all have agreed to; the same reason is told once."""
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
    """Tell staff of an event that cannot go on and cannot be cancelled, until it is committed."""
    raise_alert(WAITS, subject_of(event), title, detail)


def mark_waiting(event: int, *, at: datetime) -> None:
    """Let an event that cannot go on give way to others; it is tried again."""
    WriterEvent.objects.filter(pk=event).update(
        is_waiting=True, again_at=at + REPEAT_AFTER, steps=steps_noted(at, "waits")
    )
    reserve_rows([event])


def _decide_anew(messages: Iterable[Message], standings: BatchProgress) -> None:
    """Let an event be decided upon once more whose readers had all answered when one answers again."""
    events = event_ids(messages, MessageType.PROCESSED)
    processed = [event for event in events if standings.statuses.get(event) == EventStatus.PROCESSED]
    if processed:
        with_ids(WriterEvent.objects.all(), processed).update(is_published=False)


def _hear_of_silent(roles: Collection[str]) -> None:
    """A reader that staff were told is silent has answered."""
    for life in RoleLife.objects.filter(name__in=[subject_of_reader(role) for role in roles], is_silent=True):
        close_alert(SILENT, life.name, gettext_noop("It answers again."))
        RoleLife.objects.filter(pk=life.pk).update(is_silent=False)


def _move(messages: Iterable[Message], standings: BatchProgress, at: datetime) -> None:
    """Take the steps that the answers allow, and note those that move nothing by themselves."""
    notes = {event: ["22"] for event in event_ids(messages, MessageType.PAYLOADS_PREPARED)}
    for event in event_ids(messages, MessageType.PAYLOADS_PROCESSED):
        notes[event] = [*notes.get(event, ()), "30"]
    alike: defaultdict[tuple[tuple[str, ...], tuple[str, ...]], list[int]] = defaultdict(list)
    for event, path in standings.paths().items():
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
            _heal_waiting(done)


def _heal_waiting(events: list[int]) -> None:
    for event in find_open_waiting_alerts(events):
        close_alert(WAITS, subject_of(event))


def find_open_waiting_alerts(events: Collection[int]) -> list[int]:
    """Return those of the events that staff have been told of, and which still wait."""
    by_subject = {subject_of(event): event for event in events}
    if not by_subject:
        return []
    waiting = Alert.objects.filter(kind=WAITS, subject__in=in_array(list(by_subject)))
    subjects = waiting.exclude(status=Alert.Status.RESOLVED).values_list("subject", flat=True)
    return [by_subject[subject] for subject in subjects]
