"""Steps 3 to 11: hear of the Writer's events, fetch and keep their payloads."""

from collections import defaultdict
from datetime import datetime

from django.db.models import Count

from config.common.moments import parse_moment
from config.common.sql import among_numbers
from processes.coordination.content import read_content
from processes.coordination.messages import WRITER, Letter, Message, Told, pages
from processes.coordination.models import WriterEvent, WriterEventPayload
from processes.coordination.role import events_of
from processes.coordination.statuses import EventStatus, PayloadStatus
from processes.coordination.steps import AGAIN, note_only, take

RETOLD = (EventStatus.CREATED, EventStatus.SAVED, EventStatus.COMMITTED, EventStatus.CANCELED)
"""Statuses that the Writer is told of: it asks again when it has missed something."""


def hear_of_events(messages: list[Message], at: datetime) -> list[Letter]:
    """Step 3: add the events that are not there; of the others the Writer wants to know what became of them."""
    known = WriterEvent.objects.filter(
        pk__in=events_of(messages), app_event_status_id__in=[status.value for status in RETOLD]
    )
    known.update(is_published=False)
    headers = {message.event: message.header for message in messages if message.header is not None}
    WriterEvent.objects.bulk_create(
        (
            WriterEvent(
                pk=pk,
                position=header.position,
                date=parse_moment(header.date),
                correlation_id=header.correlation_id,
                app_event_type_id=header.type,
                payload_count=header.payloads,
                is_undone=header.is_undone,
                again_at=at + AGAIN,
            )
            for pk, header in sorted(headers.items())
        ),
        ignore_conflicts=True,
    )
    note_only("3", WriterEvent.objects.all(), list(headers), at=at)
    return []


def keep_payloads(messages: list[Message], at: datetime) -> list[Letter]:
    """Steps 8 and 11: keep what is not kept yet; an event whose payloads are all here is saved."""
    saving = WriterEvent.objects.filter(
        pk__in=events_of(messages), app_event_status_id=EventStatus.CREATED.value
    ).in_bulk()
    WriterEventPayload.objects.bulk_create(
        (
            WriterEventPayload(pk=payload.id, writer_event_id=message.event, date=at, content=payload.content)
            for message in messages
            if message.event in saving
            for payload in message.payloads
        ),
        ignore_conflicts=True,
    )
    kept = WriterEventPayload.objects.filter(writer_event__in=among_numbers(list(saving)))
    counts = dict(kept.values("writer_event").annotate(count=Count("pk")).values_list("writer_event", "count"))
    whole = [event for pk, event in saving.items() if counts.get(pk, 0) == event.payload_count]
    _note_touched(whole)
    note_only("8", WriterEvent.objects.all(), list(counts), at=at)
    take("11", WriterEvent.objects.all(), [event.pk for event in whole], at=at, again_at=None)
    return []


def _note_touched(events: list[WriterEvent]) -> None:
    """Write down what the events depend on, for the order in which they are activated."""
    touched: defaultdict[int, set[str]] = defaultdict(set)
    rows = WriterEventPayload.objects.filter(writer_event__in=among_numbers([event.pk for event in events]))
    for pk, content in rows.values_list("writer_event_id", "content"):
        touched[pk] |= {"/".join(key) for key in read_content(content).touched}
    for event in events:
        event.touched = sorted(touched[event.pk])
    WriterEvent.objects.bulk_update(events, ["touched"], batch_size=200)


def tell_of_payloads(rows: list[WriterEventPayload]) -> list[Letter]:
    """Step 9: say which payloads are kept."""
    kept: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows:
        kept[row.writer_event_id].append(row.pk)
    return [
        (WRITER, Message(Told.PAYLOADS_SAVED, event=event, ids=page))
        for event, ids in kept.items()
        for page in pages(ids)
    ]


def untold_payloads(most: int) -> list[WriterEventPayload]:
    rows = WriterEventPayload.objects.filter(
        is_published=False, app_event_payload_status_id=PayloadStatus.CREATED.value
    )
    return list(rows.only("pk", "writer_event_id").order_by("pk")[:most])
