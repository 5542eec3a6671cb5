"""Steps 3, 8, 9 and 11: record the Writer's events, and store their payloads."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import datetime

import structlog

from config.common.database.bulk_insert import insert_rows
from config.common.database.sql import in_number_array
from processes.coordination.models import WriterEvent, WriterEventPayload
from processes.coordination.protocol.messages import (
    WRITER,
    Message,
    MessageType,
    OutgoingMessage,
    header_columns,
    split_pages,
)
from processes.coordination.protocol.role import event_ids
from processes.coordination.protocol.row_changes import UnreadablePayload, decode_touched
from processes.coordination.protocol.statuses import FINAL, EventStatus, PayloadStatus
from processes.coordination.protocol.steps import (
    REPEAT_AFTER,
    json_by_row,
    note_step,
    step_times,
    take_step,
    with_ids,
)
from processes.coordination.schema.entities import Key

SAVING = (EventStatus.CREATED, EventStatus.SAVED)
"""Beside the ends of an event, the statuses that the Writer is informed of, and may have missed."""
UNREADABLE: Key = "", "unreadable"
"""The key of payloads that this version cannot read: they keep their order among each other."""

log = structlog.get_logger(__name__)


def record_new_events(messages: list[Message], at: datetime) -> list[OutgoingMessage]:
    """Step 3: insert the events that are new; publish the others again, for the Writer has missed an answer."""
    headers = {message.event: message.header for message in messages if message.header is not None}
    headers = dict(sorted(headers.items()))
    saved = [event for event, header in headers.items() if header.is_saved]
    _publish_again(saved, FINAL)
    _publish_again(headers.keys() - saved, SAVING + FINAL)
    insert_rows(
        WriterEvent,
        header_columns(headers) | {"is_undone": [header.is_undone for header in headers.values()]},
        same={"again_at": at + REPEAT_AFTER, "steps": step_times(at, "3")},
        unless_there=True,
    )
    return []


def _publish_again(events: Collection[int], statuses: Sequence[EventStatus]) -> None:
    if events:
        known = with_ids(WriterEvent.objects.all(), events)
        known.filter(app_event_status_id__in=[status.value for status in statuses]).update(is_published=False)


def store_payloads(messages: list[Message], at: datetime) -> list[OutgoingMessage]:
    """Steps 8 and 11: insert the payloads that are new; an event whose payloads are all here is saved."""
    events = with_ids(WriterEvent.objects.all(), event_ids(messages))
    created = events.filter(app_event_status_id=EventStatus.CREATED.value)
    saving = dict(created.order_by().values_list("pk", "payload_count"))
    received: dict[int, dict[int, str]] = {event: {} for event in saving}
    for message in messages:
        if message.event in received:
            received[message.event] |= {payload.id: payload.content for payload in message.payloads}
    insert_rows(
        WriterEventPayload,
        {
            "id": [pk for payloads in received.values() for pk in payloads],
            "writer_event_id": [event for event, payloads in received.items() for _ in payloads],
            "content": [content for payloads in received.values() for content in payloads.values()],
        },
        same={"date": at},
        unless_there=True,
    )
    partial = [event for event, count in saving.items() if len(received[event]) < count]
    received |= _read_stored(partial)
    whole = {event: received[event].values() for event, count in saving.items() if len(received[event]) == count}
    note_step("8", WriterEvent.objects.all(), [event for event in partial if event not in whole], at=at)
    # What an event touches decides the order in which it is activated.
    touched = json_by_row(
        {
            event: sorted({"/".join(key) for content in contents for key in _read_touched(content)})
            for event, contents in whole.items()
        }
    )
    take_step("11", WriterEvent.objects.all(), list(whole), at=at, noting=["8"], touched=touched, again_at=None)
    return []


def _read_stored(events: list[int]) -> dict[int, dict[int, str]]:
    """Return all stored payloads of events that have not come as a whole at once."""
    stored: dict[int, dict[int, str]] = {event: {} for event in events}
    if events:
        rows = WriterEventPayload.objects.filter(writer_event__in=in_number_array(events))
        for event, pk, content in rows.values_list("writer_event_id", "pk", "content"):
            stored[event][pk] = content
    return stored


def _read_touched(content: str) -> set[Key]:
    """Return the keys that a payload touches; one that cannot be read goes on to the readers, which refuse it."""
    try:
        return decode_touched(content)
    except UnreadablePayload as error:
        log.error("coordination.unreadable_payload", error=str(error))
        return {UNREADABLE}


def build_saved_messages(rows: list[WriterEventPayload]) -> list[OutgoingMessage]:
    """Step 9: return the messages to the Writer that name stored payloads."""
    stored: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows:
        stored[row.writer_event_id].append(row.pk)
    return [
        (WRITER, Message(MessageType.PAYLOADS_SAVED, event=event, ids=page))
        for event, ids in stored.items()
        for page in split_pages(ids)
    ]


def find_unpublished_payloads(most: int) -> list[WriterEventPayload]:
    rows = WriterEventPayload.objects.filter(
        is_published=False, app_event_payload_status_id=PayloadStatus.CREATED.value
    )
    return list(rows.only("pk", "writer_event_id").order_by("pk")[:most])
