"""Steps 3 to 11: hear of the Writer's events, fetch and keep their payloads."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

import structlog

from config.common.database.sql import in_number_array
from processes.coordination.models import WriterEvent, WriterEventPayload
from processes.coordination.protocol.headers import header_columns
from processes.coordination.protocol.messages import (
    WRITER,
    Message,
    MessageType,
    OutgoingMessage,
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
from processes.coordination.schema.bulk_insert import insert_rows
from processes.coordination.schema.entities import Key

SAVING = (EventStatus.CREATED, EventStatus.SAVED)
"""With how an event has ended, the statuses that the Writer is told of: it asks again when it has missed something."""
UNREADABLE: Key = "", "unreadable"
"""What payloads touch that nobody here understands: they keep their order among each other."""

log = structlog.get_logger(__name__)


def record_new_events(messages: list[Message], at: datetime) -> list[OutgoingMessage]:
    """Step 3: add the events that are not there; of the others the Writer wants to know what became of them."""
    headers = {message.event: message.header for message in messages if message.header is not None}
    headers = dict(sorted(headers.items()))
    saved = [event for event, header in headers.items() if header.is_saved]
    _tell_again(saved, FINAL)
    _tell_again(headers.keys() - saved, SAVING + FINAL)
    insert_rows(
        WriterEvent,
        header_columns(headers) | {"is_undone": [header.is_undone for header in headers.values()]},
        same={"again_at": at + REPEAT_AFTER, "steps": step_times(at, "3")},
        unless_there=True,
    )
    return []


def _tell_again(events: Collection[int], statuses: Sequence[EventStatus]) -> None:
    if events:
        known = with_ids(WriterEvent.objects.all(), events)
        known.filter(app_event_status_id__in=[status.value for status in statuses]).update(is_published=False)


def store_payloads(messages: list[Message], at: datetime) -> list[OutgoingMessage]:
    """Steps 8 and 11: keep what is not kept yet; an event whose payloads are all here is saved."""
    events = with_ids(WriterEvent.objects.all(), event_ids(messages))
    created = events.filter(app_event_status_id=EventStatus.CREATED.value)
    saving = dict(created.order_by().values_list("pk", "payload_count"))
    come: dict[int, dict[int, str]] = {event: {} for event in saving}
    for message in messages:
        if message.event in come:
            come[message.event] |= {payload.id: payload.content for payload in message.payloads}
    insert_rows(
        WriterEventPayload,
        {
            "id": [pk for payloads in come.values() for pk in payloads],
            "writer_event_id": [event for event, payloads in come.items() for _ in payloads],
            "content": [content for payloads in come.values() for content in payloads.values()],
        },
        same={"date": at},
        unless_there=True,
    )
    partial = [event for event, count in saving.items() if len(come[event]) < count]
    come |= _read_kept(partial)
    whole = {event: come[event].values() for event, count in saving.items() if len(come[event]) == count}
    note_step("8", WriterEvent.objects.all(), [event for event in partial if event not in whole], at=at)
    touched = json_by_row({event: _touched(contents) for event, contents in whole.items()})
    take_step("11", WriterEvent.objects.all(), list(whole), at=at, noting=["8"], touched=touched, again_at=None)
    return []


def _read_kept(events: list[int]) -> dict[int, dict[int, str]]:
    """Return all payloads that are kept of events of which some came before, or are still to come."""
    kept: dict[int, dict[int, str]] = {event: {} for event in events}
    if events:
        rows = WriterEventPayload.objects.filter(writer_event__in=in_number_array(events))
        for event, pk, content in rows.values_list("writer_event_id", "pk", "content"):
            kept[event][pk] = content
    return kept


def _touched(contents: Iterable[str]) -> list[str]:
    """Return what an event depends on, for the order in which it is activated."""
    return sorted({"/".join(key) for content in contents for key in _read_touched(content)})


def _read_touched(content: str) -> set[Key]:
    """What cannot be read here goes on to the readers, which refuse it: the line would wait behind it for ever."""
    try:
        return decode_touched(content)
    except UnreadablePayload as error:
        log.error("coordination.unreadable_payload", error=str(error))
        return {UNREADABLE}


def build_saved_messages(rows: list[WriterEventPayload]) -> list[OutgoingMessage]:
    """Step 9: say which payloads are kept."""
    kept: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows:
        kept[row.writer_event_id].append(row.pk)
    return [
        (WRITER, Message(MessageType.PAYLOADS_SAVED, event=event, ids=page))
        for event, ids in kept.items()
        for page in split_pages(ids)
    ]


def find_unpublished_payloads(most: int) -> list[WriterEventPayload]:
    rows = WriterEventPayload.objects.filter(
        is_published=False, app_event_payload_status_id=PayloadStatus.CREATED.value
    )
    return list(rows.only("pk", "writer_event_id").order_by("pk")[:most])
