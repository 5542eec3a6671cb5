"""Steps 18, 22, 23, 27, 30, 33, 34.5, 35.5: what readers answer, and what becomes of an event when all have.

A reader's answer is kept in its own row, which only moves forward; the event moves when the rows of all readers allow
it. So answers may come twice and in any order, and one may come for others that were lost.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from django.db.models import F, Sum
from django.utils.translation import gettext_noop

from config.common.sql import among_numbers
from notifications.services.alerts import heal, raise_alert
from processes.coordination.coordinator.letters import everything_for
from processes.coordination.messages import Letter, Message, Told
from processes.coordination.models import Progress, RoleLife, WriterEvent, WriterEventPayload, WriterEventReader
from processes.coordination.role import events_of
from processes.coordination.routing import reader_names
from processes.coordination.statuses import FINAL, EventStatus, PayloadStatus
from processes.coordination.steps import AGAIN, note_only, take
from processes.coordination.transitions import BY_NUMBER

SILENT = "coordination.silent"
WAITS = "coordination.waits"
Verdict = WriterEventReader.Verdict
_PROGRESS = {
    Told.PREPARING_BEGINS: (Progress.PREPARING, Verdict.WAITING),
    Told.PROCESSING_BEGINS: (Progress.PROCESSING, Verdict.WAITING),
    Told.PROCESSED: (Progress.PROCESSED, Verdict.PROCESSED),
    Told.COMMITTED: (Progress.COMMITTED, Verdict.COMMITTED),
    Told.CANCELED: (Progress.CANCELED, Verdict.CANCELED),
}


def subject_of_reader(name: str) -> str:
    return f"reader/{name}"


def hear_progress(messages: list[Message], at: datetime) -> list[Letter]:
    """Keep how far readers are, and their verdicts."""
    for (told, role, reason), events in _grouped(messages).items():
        progress, verdict = _PROGRESS[told]
        values: dict[str, Any] = {"progress": progress, "verdict": verdict, "answered_at": at}
        if told != Told.CANCELED:  # why a reader refused stays known when the event is cancelled for it
            values["reason"] = reason
        if reason:
            values["verdict"] = Verdict.REFUSED
        if progress >= Progress.COMMITTED:
            values["ended_at"] = at
        rows = WriterEventReader.objects.filter(name=role, writer_event__in=among_numbers(events))
        rows.filter(progress__lt=progress).update(**values)
        if told == Told.PROCESSED:
            _mark_payloads(WriterEventPayload.objects.filter(writer_event__in=among_numbers(events)), role, events)
            if reason:
                _warn_of_refused_commits(role, reason, events)
            else:
                _tell_again_to_commit(events)
    _hear_of_silent({message.role for message in messages})
    _move(events_of(messages), at)
    return []


def hear_of_payloads(messages: list[Message], at: datetime) -> list[Letter]:
    """Steps 22 and 30: keep which readers have which payloads; one that is processed has been prepared."""
    for (told, role, _), events in _grouped(messages).items():
        ids = [pk for message in messages if message.told == told and message.role == role for pk in message.ids]
        rows = WriterEventPayload.objects.filter(pk__in=among_numbers(ids))
        _mark_payloads(rows, role, events, is_processed=told == Told.PAYLOADS_PROCESSED)
        note_only("30" if told == Told.PAYLOADS_PROCESSED else "22", WriterEvent.objects.all(), events, at=at)
    _move(events_of(messages), at)
    return []


def hear_of_unknown(messages: list[Message], at: datetime) -> list[Letter]:
    """A reader knows nothing of events it should know: forget what it has answered, and tell it all of them anew."""
    letters: list[Letter] = []
    for (_, role, _), events in _grouped(messages).items():
        still = WriterEvent.objects.filter(pk__in=events).exclude(app_event_status_id__in=list(FINAL))
        under_way = list(still.exclude(app_event_status_id=EventStatus.CANCELING.value).order_by("position"))
        rows = WriterEventReader.objects.filter(name=role, writer_event__in=under_way)
        bits = set(rows.values_list("bit", flat=True))
        rows.update(progress=Progress.WAITING, verdict=Verdict.WAITING, reason="", ended_at=None)
        for bit in bits:
            WriterEventPayload.objects.filter(writer_event__in=under_way).update(
                prepared_by=F("prepared_by").bitand(~bit), processed_by=F("processed_by").bitand(~bit)
            )
        letters += everything_for(role, under_way)
    return letters


def _grouped(messages: Iterable[Message]) -> dict[tuple[Told, str, str], list[int]]:
    """Group the events by what is said of them, in the order of the steps."""
    grouped: defaultdict[tuple[Told, str, str], set[int]] = defaultdict(set)
    for message in messages:
        grouped[message.told, message.role, message.reason[:500]].add(message.event)
    order = list(Told)
    return {key: sorted(grouped[key]) for key in sorted(grouped, key=lambda key: (order.index(key[0]), key[1:]))}


def _mark_payloads(rows: Any, role: str, events: list[int], *, is_processed: bool = True) -> None:
    of_role = WriterEventReader.objects.filter(name=role, writer_event__in=among_numbers(events))
    for bit in set(of_role.values_list("bit", flat=True)):
        had = F("processed_by" if is_processed else "prepared_by").bitand(bit)
        new = rows.filter(writer_event__readers__name=role, writer_event__readers__bit=bit).alias(had=had).filter(had=0)
        changes = {"prepared_by": F("prepared_by").bitor(bit)}
        if is_processed:
            changes["processed_by"] = F("processed_by").bitor(bit)
        ids = list(new.order_by("pk").values_list("pk", flat=True))
        WriterEventPayload.objects.filter(pk__in=among_numbers(ids)).update(**changes)
    _raise_payloads(events)


def _raise_payloads(events: list[int]) -> None:
    """Move payloads on that all readers have, or have processed."""
    readers = WriterEventReader.objects.filter(writer_event__in=among_numbers(events), name__in=reader_names())
    masks = readers.order_by().values_list("writer_event").annotate(mask=Sum("bit"))
    by_mask: defaultdict[int, list[int]] = defaultdict(list)
    for event, mask in masks:
        by_mask[mask].append(event)
    for mask, of_mask in by_mask.items():
        rows = WriterEventPayload.objects.filter(writer_event__in=among_numbers(of_mask))
        created, prepared = PayloadStatus.CREATED.value, PayloadStatus.PREPARED.value
        rows.filter(prepared_by=mask, app_event_payload_status_id=created).update(
            app_event_payload_status_id=prepared, is_published=False
        )
        rows.filter(processed_by=mask, app_event_payload_status_id__in=[created, prepared]).update(
            app_event_payload_status_id=PayloadStatus.PROCESSED.value, is_published=False
        )


def _tell_again_to_commit(events: list[int]) -> None:
    """A reader that had lost the event has it again while the others commit already."""
    WriterEvent.objects.filter(pk__in=events, app_event_status_id=EventStatus.COMMITTING.value).update(
        is_published=False
    )


def _warn_of_refused_commits(role: str, reason: str, events: list[int]) -> None:
    """Once committing an event is never cancelled: a reader that cannot apply it now needs a person."""
    for event in WriterEvent.objects.filter(pk__in=events, app_event_status_id=EventStatus.COMMITTING.value):
        raise_alert(
            WAITS,
            f"coordination/{event.pk}",
            gettext_noop("Reader %(reader)s cannot apply change set %(event)s: %(reason)s"),
            {"reader": role, "event": event.pk, "reason": reason},
        )


def _hear_of_silent(roles: Collection[str]) -> None:
    """A reader that staff were told is silent has answered."""
    for life in RoleLife.objects.filter(name__in=[subject_of_reader(role) for role in roles], is_silent=True):
        heal(SILENT, life.name, gettext_noop("It answers again."))
        RoleLife.objects.filter(pk=life.pk).update(is_silent=False)


def _move(events: list[int], at: datetime) -> None:
    """Take the steps that the answers allow, one after the other."""
    moves = (
        ("18", Progress.PREPARING),
        ("23", None),
        ("27", Progress.PROCESSING),
        ("33", Progress.PROCESSED),
        ("34.5", Progress.COMMITTED),
        ("35.5", Progress.CANCELED),
    )
    statuses = dict(WriterEvent.objects.filter(pk__in=events).values_list("pk", "app_event_status_id"))
    for number, progress in moves:
        step = BY_NUMBER[number]
        there = [pk for pk, status in statuses.items() if status in step.only_from]
        if not there:
            continue
        ready = _all_prepared(there) if progress is None else _all_at(there, progress)
        if number == "33":
            ready |= _refused(there)
        also: dict[str, Any] = {"again_at": at + AGAIN}
        if number in ("34.5", "35.5"):
            also = {"again_at": None, "ended_at": at, "is_waiting": False}
        done = take(number, WriterEvent.objects.all(), ready, at=at, **also)
        if step.to is not None:
            statuses |= dict.fromkeys(done, step.to[0])
        if number == "34.5":
            _heal_waiting(done)


def _all_at(events: list[int], progress: Progress) -> set[int]:
    rows = WriterEventReader.objects.filter(writer_event__in=among_numbers(events), name__in=reader_names())
    behind = set(rows.filter(progress__lt=progress).values_list("writer_event_id", flat=True))
    return set(rows.values_list("writer_event_id", flat=True)) - behind


def _all_prepared(events: list[int]) -> set[int]:
    preparing = WriterEvent.objects.filter(pk__in=events, app_event_status_id=EventStatus.PREPARING.value)
    missing = WriterEventPayload.objects.filter(
        writer_event__in=among_numbers(events), app_event_payload_status_id=PayloadStatus.CREATED.value
    )
    behind = set(missing.values_list("writer_event_id", flat=True))
    return set(preparing.values_list("pk", flat=True)) - behind


def _refused(events: list[int]) -> set[int]:
    rows = WriterEventReader.objects.filter(writer_event__in=among_numbers(events), verdict=Verdict.REFUSED)
    return set(rows.values_list("writer_event_id", flat=True))


def _heal_waiting(events: list[int]) -> None:
    for event in events:
        heal(WAITS, f"coordination/{event}")
