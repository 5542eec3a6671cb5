"""Steps 3 to 11: hear of the Writer's events, fetch and keep their payloads."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

import structlog

from config.common.database.sql import in_number_array
from processes.coordination.content import Unreadable, read_touched
from processes.coordination.entities import Key
from processes.coordination.headers import columns_of_headers
from processes.coordination.inserting import insert_rows
from processes.coordination.messages import WRITER, Letter, Message, Told, pages
from processes.coordination.models import WriterEvent, WriterEventPayload
from processes.coordination.role import events_of
from processes.coordination.statuses import FINAL, EventStatus, PayloadStatus
from processes.coordination.steps import AGAIN, each_its_own, note_only, take, those, times

SAVING = (EventStatus.CREATED, EventStatus.SAVED)
"""With how an event has ended, the statuses that the Writer is told of: it asks again when it has missed something."""
UNREADABLE: Key = "", "unreadable"
"""What payloads touch that nobody here understands: they keep their order among each other."""

log = structlog.get_logger(__name__)


def hear_of_events(messages: list[Message], at: datetime) -> list[Letter]:
    """Step 3: add the events that are not there; of the others the Writer wants to know what became of them."""
    headers = {message.event: message.header for message in messages if message.header is not None}
    headers = dict(sorted(headers.items()))
    saved = [event for event, header in headers.items() if header.is_saved]
    _tell_again(saved, FINAL)
    _tell_again(headers.keys() - saved, SAVING + FINAL)
    insert_rows(
        WriterEvent,
        columns_of_headers(headers) | {"is_undone": [header.is_undone for header in headers.values()]},
        same={"again_at": at + AGAIN, "steps": times(at, "3")},
        unless_there=True,
    )
    return []


def _tell_again(events: Collection[int], statuses: Sequence[EventStatus]) -> None:
    if events:
        known = those(WriterEvent.objects.all(), events)
        known.filter(app_event_status_id__in=[status.value for status in statuses]).update(is_published=False)


def keep_payloads(messages: list[Message], at: datetime) -> list[Letter]:
    """Steps 8 and 11: keep what is not kept yet; an event whose payloads are all here is saved."""
    events = those(WriterEvent.objects.all(), events_of(messages))
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
    note_only("8", WriterEvent.objects.all(), [event for event in partial if event not in whole], at=at)
    touched = each_its_own({event: _touched(contents) for event, contents in whole.items()})
    take("11", WriterEvent.objects.all(), list(whole), at=at, noting=["8"], touched=touched, again_at=None)
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
        return read_touched(content)
    except Unreadable as error:
        log.error("coordination.unreadable_payload", error=str(error))
        return {UNREADABLE}


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
