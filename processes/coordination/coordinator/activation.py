"""Step 14: let events begin at the readers, in the order of their positions.

At most `COORDINATION_PARALLEL` are under way at once, and those that share a row keep their order. An event is looked
at only when every one before it is known and saved: otherwise nobody knows what it would overtake.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec
from django.conf import settings
from django.db.models import Count, Q, TextField
from django.db.models.functions import Cast

from processes.coordination.inserting import insert_rows
from processes.coordination.models import CoordinatorState, WriterEvent, WriterEventReader
from processes.coordination.routing import reader_names
from processes.coordination.statuses import FINAL, UNDECIDED, EventStatus
from processes.coordination.steps import AGAIN, take

WINDOW = 1000
"""Events under way that one look goes over."""


def learn_positions(state: CoordinatorState) -> None:
    """Move the mark up to which every event is known."""
    heard = WriterEvent.objects.filter(position__gt=state.known_position).order_by("position")
    known = state.known_position
    for position in heard.values_list("position", flat=True)[:WINDOW].iterator():
        if position != known + 1:
            break
        known = position
    if known != state.known_position:
        state.known_position = known
        state.save(update_fields=["known_position"])


def activate(state: CoordinatorState, *, at: datetime) -> bool:
    """Begin what may begin; return whether there was anything."""
    rows = WriterEvent.objects.filter(position__lte=state.known_position).exclude(app_event_status_id__in=list(FINAL))
    in_order = rows.order_by("position")
    active = Count("pk", filter=Q(app_event_status_id__in=[status.value for status in ACTIVE], is_waiting=False))
    if in_order[:WINDOW].aggregate(active=active)["active"] >= settings.COORDINATION_PARALLEL:
        return False  # what the line behind them touches is not read for nothing
    under_way = in_order.annotate(keys=Cast("touched", TextField()))
    lines = under_way.values_list("pk", "app_event_status_id", "is_published", "is_waiting", "keys")[:WINDOW]
    chosen = choose([UnderWay(*line) for line in lines], parallel=settings.COORDINATION_PARALLEL)
    begun = take("14", WriterEvent.objects.all(), chosen, at=at, clock=state.clock, again_at=at + AGAIN)
    for place, name in enumerate(reader_names()):
        same = {"name": name, "bit": 1 << place}
        insert_rows(WriterEventReader, {"writer_event_id": begun}, same=same, unless_there=True)
    return bool(begun)


def include_new_readers() -> None:
    """Ask readers that are new also about what is under way: their tables were filled without it (`snapshot.py`)."""
    undecided = WriterEvent.objects.filter(app_event_status_id__in=[status.value for status in UNDECIDED])
    asked: defaultdict[int, set[str]] = defaultdict(set)
    rows = WriterEventReader.objects.filter(writer_event__in=undecided)
    for event, name in rows.values_list("writer_event_id", "name"):
        asked[event].add(name)
    for event, names in asked.items():
        new = [name for name in reader_names() if name not in names]
        bits = [1 << place for place in range(len(names), len(names) + len(new))]
        insert_rows(WriterEventReader, {"name": new, "bit": bits}, same={"writer_event_id": event})


class UnderWay(NamedTuple):
    """A row of an event, without what makes it a large one."""

    pk: int
    status: int
    is_published: bool
    is_waiting: bool
    keys: str

    @property
    def touched(self) -> list[str]:
        found: list[str] = msgspec.json.decode(self.keys)
        return found


def choose(under_way: Sequence[UnderWay | WriterEvent], *, parallel: int) -> list[int]:
    """Choose from all that is under way, in order, what may begin now."""
    chosen: list[int] = []
    held: set[str] = set()
    active = sum(event.status in ACTIVE and not event.is_waiting for event in under_way)
    for event in under_way:
        if event.status == EventStatus.CREATED or active >= parallel:
            break
        if event.status == EventStatus.SAVED and event.is_published and held.isdisjoint(event.touched):
            chosen.append(event.pk)
            active += 1
        held.update(event.touched)
    return chosen


ACTIVE = frozenset(EventStatus) - {EventStatus.CREATED, EventStatus.SAVED, *FINAL}
