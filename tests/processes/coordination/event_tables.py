"""One change set on its way: what the tables of all roles hold, in words that a table of steps can be written in."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from processes.coordination.models import AppEvent, AppEventPayload, WriterEvent, WriterEventPayload
from processes.coordination.models import writer as of_writer
from processes.coordination.protocol.statuses import EventStatus, PayloadStatus
from processes.coordination.protocol.transitions import BY_NUMBER, RoleKind
from processes.coordination.reader import models as of_reader
from tests.processes.coordination.in_memory_roles import InMemoryRoles, by_queue, rows_of

READER = "reader_main"
ABSENT = "-"


@dataclass(frozen=True)
class Tables:
    """Each event row is its status with `+` if it is published; its payloads are counted by theirs, likewise."""

    writer: str
    coordinator: str
    reader: str
    rows: str
    """The reader's commit rows, rollback rows and rows of the entity."""
    waiting: str
    """What lies in the queues."""


def look(roles: InMemoryRoles, event: int) -> Tables:
    """Read all tables that a change set of items touches."""
    return Tables(
        writer=_event(AppEvent.objects.filter(pk=event), AppEventPayload.objects.filter(app_event=event)),
        coordinator=_event(WriterEvent.objects.filter(pk=event), WriterEventPayload.objects.filter(writer_event=event)),
        reader=_event(
            of_reader.AppEvent.objects.using(READER).filter(pk=event),
            of_reader.AppEventPayload.objects.using(READER).filter(app_event=event),
        ),
        rows=" ".join(str(count) for count in (*changes_at_reader(event), len(items_of_reader()))),
        waiting=_waiting(roles),
    )


def items_of_writer() -> dict[int, Any]:
    return rows_of(of_writer.TABLES["DummyItem"], using="default")


def items_of_reader() -> dict[int, Any]:
    return rows_of(of_reader.TABLES["DummyItem"], using=READER)


def changes_at_writer(event: int) -> tuple[int, int]:
    """Return how many commit and rollback rows the Writer keeps of an event."""
    return _count(of_writer.COMMITS, event, "default"), _count(of_writer.ROLLBACKS, event, "default")


def changes_at_reader(event: int) -> tuple[int, int]:
    return _count(of_reader.COMMITS, event, READER), _count(of_reader.ROLLBACKS, event, READER)


def noted_steps(event: int) -> dict[RoleKind, set[str]]:
    """Return which steps each role has noted."""
    rows = {
        RoleKind.WRITER: AppEvent.objects.filter(pk=event),
        RoleKind.COORDINATOR: WriterEvent.objects.filter(pk=event),
        RoleKind.READER: of_reader.AppEvent.objects.using(READER).filter(pk=event),
    }
    return {role: {step for found in of_role for step in found.steps} for role, of_role in rows.items()}


def by_role(numbers: Iterable[str]) -> dict[RoleKind, set[str]]:
    """Return the steps by the role whose they are, as the document has it."""
    numbers = list(numbers)
    return {role: {number for number in numbers if BY_NUMBER[number].role == role} for role in RoleKind}


def _event(events: Any, payloads: Any) -> str:
    row = events.first()
    if row is None:
        return ABSENT
    counted = Counter(
        _marked(PayloadStatus(payload.app_event_payload_status_id).title, payload.is_published) for payload in payloads
    )
    parts = (f"{count} {status}" for status, count in sorted(counted.items()))
    return ", ".join([_marked(EventStatus(row.app_event_status_id).title, row.is_published), *parts])


def _marked(status: str, is_published: bool) -> str:
    return status + "+" * is_published


def _count(tables: dict[str, Any], event: int, alias: str) -> int:
    return sum(table.objects.using(alias).filter(app_event_id=event).count() for table in tables.values())


def _waiting(roles: InMemoryRoles) -> str:
    counted = Counter(message.type for messages in by_queue(roles.bus).values() for message in messages)
    return ", ".join(f"{told} x{count}" if count > 1 else told for told, count in counted.items())
