"""The Coordinator's messages to the Writer and to the readers about its events, by their statuses."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

from config.common.database.sql import in_number_array
from processes.coordination.models import Progress, WriterEvent, WriterEventPayload, WriterEventReader
from processes.coordination.protocol.messages import (
    WRITER,
    Message,
    MessageType,
    OutgoingMessage,
    Payload,
    build_header,
    queue_of_reader,
    split_pages,
)
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.schema.routing import reader_names

TO_WRITER = {
    EventStatus.CREATED: (MessageType.SAVING_BEGINS, MessageType.PAYLOADS_WANTED),
    EventStatus.SAVED: (MessageType.SAVING_ENDED,),
    EventStatus.COMMITTED: (MessageType.EVENT_COMMITTED,),
    EventStatus.CANCELED: (MessageType.EVENT_CANCELED,),
}
TO_READERS = {
    EventStatus.ACTIVATED: (MessageType.PREPARE, Progress.PREPARING),
    EventStatus.PREPARING: (MessageType.PREPARE_PAYLOADS, Progress.PROCESSED),
    EventStatus.PREPARED: (MessageType.PROCESS, Progress.PROCESSED),
    EventStatus.PROCESSING: (MessageType.PROCESS, Progress.PROCESSED),
    EventStatus.PROCESSED: (MessageType.PROCESS, Progress.PROCESSED),
    EventStatus.COMMITTING: (MessageType.COMMIT, Progress.COMMITTED),
    EventStatus.CANCELING: (MessageType.CANCEL, Progress.CANCELED),
    EventStatus.CANCELED: (MessageType.CANCEL, Progress.CANCELED),
}
"""By status, the message to the readers and the progress of a reader that needs no repeat of it."""


def build_messages(events: Sequence[WriterEvent], *, again: bool = False) -> list[OutgoingMessage]:
    """Return the messages about these events; with `again` only to those who have not answered."""
    messages: list[OutgoingMessage] = []
    for event in events:
        if not (again and event.status == EventStatus.CANCELED):
            messages += [
                (WRITER, Message(type, event=event.pk, reason=event.reason)) for type in TO_WRITER.get(event.status, ())
            ]
    to_readers = [
        event for event in events if event.status in TO_READERS and (again or event.status != EventStatus.CANCELED)
    ]
    return messages + _build_messages_to_readers(to_readers, again=again)


def build_all_messages_for(reader: str, events: Sequence[WriterEvent]) -> list[OutgoingMessage]:
    """Return all messages that a reader needs to judge events that it does not have."""
    queue = queue_of_reader(reader)
    messages = [(queue, Message(MessageType.PREPARE, event=event.pk, header=build_header(event))) for event in events]
    for event, page in _pages_of(events, bit=0):
        messages.append(
            (queue, Message(MessageType.PREPARE_PAYLOADS, event=event.pk, header=build_header(event), payloads=page))
        )
    return messages + [(queue, Message(MessageType.PROCESS, event=event.pk)) for event in events]


def _build_messages_to_readers(events: Sequence[WriterEvent], *, again: bool) -> list[OutgoingMessage]:
    if not events:
        return []
    readers: defaultdict[int, list[tuple[str, int, int]]] = defaultdict(list)
    rows = WriterEventReader.objects.filter(
        writer_event__in=in_number_array([event.pk for event in events]), name__in=reader_names()
    )
    for pk, name, bit, progress in rows.values_list("writer_event_id", "name", "bit", "progress"):
        readers[pk].append((name, bit, progress))
    messages: list[OutgoingMessage] = []
    by_bit: defaultdict[tuple[str, int], list[WriterEvent]] = defaultdict(list)
    for event in events:
        type, enough = TO_READERS[event.status]
        for name, bit, progress in readers[event.pk]:
            if again and progress >= enough:
                continue
            if type == MessageType.PREPARE_PAYLOADS:
                by_bit[name, bit].append(event)
            else:
                header = build_header(event) if type == MessageType.PREPARE else None
                messages.append((queue_of_reader(name), Message(type, event=event.pk, header=header)))
    return messages + list(_build_payload_messages(by_bit))


def _build_payload_messages(by_bit: dict[tuple[str, int], list[WriterEvent]]) -> Iterable[OutgoingMessage]:
    for (name, bit), events in by_bit.items():
        for event, page in _pages_of(events, bit=bit):
            message = Message(MessageType.PREPARE_PAYLOADS, event=event.pk, header=build_header(event), payloads=page)
            yield queue_of_reader(name), message


def _pages_of(events: Sequence[WriterEvent], *, bit: int) -> Iterable[tuple[WriterEvent, list[Payload]]]:
    """Yield the payloads that the reader with this bit does not have yet, in pages; with bit 0 all of them."""
    rows = WriterEventPayload.objects.filter(writer_event__in=in_number_array([event.pk for event in events]))
    found: defaultdict[int, list[Payload]] = defaultdict(list)
    for pk, event_id, content, prepared_by in rows.order_by("pk").values_list(
        "pk", "writer_event_id", "content", "prepared_by"
    ):
        if not prepared_by & bit:
            found[event_id].append(Payload(pk, content))
    for event in events:
        for page in split_pages(found[event.pk]):
            yield event, page
