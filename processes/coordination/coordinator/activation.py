"""Step 14: activate events, in the order of their positions.

At most `COORDINATION_PARALLEL` are active at once, and those that share a row keep their order. An event is considered
only when every one before it is known and saved: otherwise it might overtake one that touches the same row.

An event that waits (refused or late, and not to be cancelled) is out of the line, and so is every event behind it that
touches one of its rows, and those behind these. Their rows are reserved in a table of their own (`HeldRow`), which is
queried by row: however many events stand beside the line, activation costs what the line itself costs.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from django.conf import settings
from django.db.models import Count, Min, Q, TextField
from django.db.models.functions import Cast

from config.common.database.bulk_insert import insert_rows
from config.common.database.sql import in_array, in_number_array
from processes.coordination.models import CoordinatorState, HeldRow, WriterEvent, WriterEventReader
from processes.coordination.protocol.statuses import FINAL, UNDECIDED, EventStatus
from processes.coordination.protocol.steps import REPEAT_AFTER, take_step, with_ids
from processes.coordination.schema.routing import reader_names

IN_LINE = {"is_waiting": False, "is_behind": False}
WINDOW = 1000
"""Events of the line that one turn considers."""


def advance_known_position(state: CoordinatorState) -> None:
    """Raise the position up to which every event is known."""
    newer = WriterEvent.objects.filter(position__gt=state.known_position).order_by("position")
    known = state.known_position
    for position in newer.values_list("position", flat=True)[:WINDOW].iterator():
        if position != known + 1:
            break
        known = position
    if known != state.known_position:
        state.known_position = known
        state.save(update_fields=["known_position"])


def activate_events(state: CoordinatorState, *, at: datetime) -> tuple[bool, bool]:
    """Activate what may begin and move out of the line what cannot; return whether there were any of each."""
    line = WriterEvent.objects.filter(position__lte=state.known_position, **IN_LINE)
    line = line.exclude(app_event_status_id__in=list(FINAL)).order_by("position")
    active = Count("pk", filter=Q(app_event_status_id__in=[status.value for status in ACTIVE]))
    if line[:WINDOW].aggregate(active=active)["active"] >= settings.COORDINATION_PARALLEL:
        return False, False  # the long column `touched` is read only if an event could begin
    rows = line.annotate(keys=Cast("touched", TextField()))
    columns = rows.values_list("pk", "position", "app_event_status_id", "is_published", "keys")[:WINDOW]
    under_way = [LineEvent(*row) for row in columns]
    reserved = find_reserved({key for event in under_way for key in event.touched})
    chosen, behind = choose_events(under_way, parallel=settings.COORDINATION_PARALLEL, reserved=reserved)
    move_behind(behind)
    begun = take_step("14", WriterEvent.objects.all(), chosen, at=at, clock=state.clock, again_at=at + REPEAT_AFTER)
    for place, name in enumerate(reader_names()):
        same = {"name": name, "bit": 1 << place}
        insert_rows(WriterEventReader, {"writer_event_id": begun}, same=same, unless_there=True)
    return bool(begun), bool(behind)


def add_new_readers() -> None:
    """Add new readers to the events under way: their tables were filled without those (`maintenance/snapshot.py`)."""
    undecided = WriterEvent.objects.filter(app_event_status_id__in=[status.value for status in UNDECIDED])
    asked: defaultdict[int, set[str]] = defaultdict(set)
    rows = WriterEventReader.objects.filter(writer_event__in=undecided)
    for event, name in rows.values_list("writer_event_id", "name"):
        asked[event].add(name)
    for event, names in asked.items():
        new = [name for name in reader_names() if name not in names]
        bits = [1 << place for place in range(len(names), len(names) + len(new))]
        insert_rows(WriterEventReader, {"name": new, "bit": bits}, same={"writer_event_id": event})


class LineEvent(NamedTuple):
    """The columns of an event in the line that the choice needs; `touched` is decoded late."""

    pk: int
    position: int
    status: int
    is_published: bool
    keys: str

    @property
    def touched(self) -> list[str]:
        found: list[str] = msgspec.json.decode(self.keys)
        return found


def choose_events(
    under_way: Sequence[LineEvent | WriterEvent], *, parallel: int, reserved: Mapping[str, int]
) -> tuple[list[int], list[int]]:
    """Return the events of the line that may begin now, and those that must stand behind one that is out of the line.

    `reserved` are the rows that events out of the line keep, with the position of the first of them.
    """
    chosen: list[int] = []
    behind: list[int] = []
    of_line: set[str] = set()
    beside = dict(reserved)
    active = sum(event.status in ACTIVE for event in under_way)
    for event in under_way:
        if event.status == EventStatus.CREATED or active >= parallel:
            break
        touched, place = event.touched, event.position
        if event.status == EventStatus.SAVED and any(beside.get(key, place) < place for key in touched):
            behind.append(event.pk)
            beside |= {key: min(place, beside.get(key, place)) for key in touched}
            continue
        if event.status == EventStatus.SAVED and event.is_published and of_line.isdisjoint(touched):
            chosen.append(event.pk)
            active += 1
        of_line.update(touched)
    return chosen, behind


def reserve_rows(events: Collection[int]) -> None:
    """Reserve the rows that events out of the line touch."""
    rows = with_ids(WriterEvent.objects.all(), events).order_by().values_list("pk", "position", "touched")
    reserved = [(key, pk, position) for pk, position, touched in rows for key in touched]
    columns = {
        name: [each[place] for each in reserved] for place, name in enumerate(("key", "writer_event_id", "position"))
    }
    insert_rows(HeldRow, columns, unless_there=True)


def find_reserved(keys: Collection[str]) -> dict[str, int]:
    """Return the reserved ones of these rows, each with the position of the first event that has reserved it."""
    if not keys or not HeldRow.objects.exists():
        return {}
    rows = HeldRow.objects.filter(key__in=in_array(sorted(keys))).order_by()
    return dict(rows.values_list("key").annotate(first=Min("position")))


def move_behind(events: Collection[int]) -> None:
    """Move events out of the line that touch a reserved row, and reserve theirs."""
    if events:
        with_ids(WriterEvent.objects.all(), events).update(is_behind=True)
        reserve_rows(events)


def release_rows(ended: Collection[int]) -> None:
    """Release the rows of events that have ended, and bring the events behind them back into the line."""
    if not ended or not HeldRow.objects.exists():
        return
    HeldRow.objects.filter(writer_event__in=in_number_array(ended)).delete()
    touched = with_ids(WriterEvent.objects.all(), ended).order_by().values_list("touched", flat=True)
    keys = {key for each in touched for key in each}
    behind = HeldRow.objects.filter(key__in=in_array(sorted(keys)), writer_event__is_behind=True)
    back = sorted(set(behind.order_by().values_list("writer_event_id", flat=True)))
    if back:
        HeldRow.objects.filter(writer_event__in=in_number_array(back)).delete()
        with_ids(WriterEvent.objects.all(), back).update(is_behind=False)


ACTIVE = frozenset(EventStatus) - {EventStatus.CREATED, EventStatus.SAVED, *FINAL}
