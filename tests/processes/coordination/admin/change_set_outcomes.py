"""Change sets that have come to each kind of end, or are on their way to it; each returns its event."""

from uuid import UUID

from processes.coordination.models import WriterEvent
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.reader import models as reader
from tests.processes.coordination.in_memory_roles import (
    InMemoryRoles,
    make_change_set,
    request_change,
    status_of,
)


def commit(roles: InMemoryRoles, count: int = 1) -> int:
    event = make_change_set(
        *(request_change("DummyItem", "insert", name=f"crate {number}") for number in range(count))
    ).event
    roles.settle(lambda: status_of(event) == EventStatus.COMMITTED)
    return event


def begin(roles: InMemoryRoles, until: EventStatus = EventStatus.PREPARING) -> int:
    """Lead a change set to where the Coordinator has it in this status, and no further."""
    event = make_change_set(request_change("DummyNode", "insert", name="aisle")).event
    for _ in range(60):
        for role in roles.all:
            role.run_once()
            if WriterEvent.objects.filter(pk=event, app_event_status_id=until.value).exists():
                return event
    raise AssertionError("it never came to that")


def refuse(roles: InMemoryRoles) -> int:
    """Let the reader refuse a change set, which is taken back."""
    made = make_change_set(request_change("DummyItem", "insert", name="barrel"))
    stand_in_the_way(made.ids[0])
    roles.settle(lambda: status_of(made.event) == EventStatus.CANCELED)
    return made.event


def fail(roles: InMemoryRoles) -> int:
    """Let the reader refuse a change set whose rows the next one has changed: it cannot be taken back."""
    made = make_change_set(
        request_change("DummyItem", "insert", name="pallet"), request_change("DummyItem", "insert", name="box")
    )
    stand_in_the_way(made.ids[0])
    newer = make_change_set(request_change("DummyItem", "update", made.ids[0], name="pallet of wood"))
    roles.settle(lambda: status_of(newer.event) == EventStatus.COMMITTED)
    assert status_of(made.event) == EventStatus.COMPENSATION_FAILED
    return made.event


def stand_in_the_way(item: int) -> None:
    """Put a row with this id into the reader's table, where none should be."""
    values = {"name": "in the way", "correlation_id": UUID(int=1)}
    reader.TABLES["DummyItem"].objects.using("reader_main").create(id=item, **values)
