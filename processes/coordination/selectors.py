"""Events as a whole: what the Writer, the Coordinator and the readers know of each, put together."""

import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog
from django.db import DatabaseError
from django.db.models import Case, Count, F, IntegerField, Min, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce

from config.common.database.sql import in_number_array
from config.common.web.limits import Busy
from processes.coordination.errors import EventNotFound, ReaderAway
from processes.coordination.gateway.readers import ANSWER_SECONDS, ask_reader
from processes.coordination.models import AppEvent, WriterEvent, WriterEventPayload, WriterEventReader
from processes.coordination.protocol.statuses import EventStatus, PayloadStatus
from processes.coordination.protocol.steps import unpack_steps
from processes.coordination.reader.models import AppEvent as ReaderEvent
from processes.coordination.schema.entities import type_names
from processes.coordination.schema.routing import reader_alias, reader_names

ENDED = (EventStatus.COMMITTED, EventStatus.CANCELED, EventStatus.COMPENSATION_FAILED)
"""Where the Writer's own row has the last word."""
UNDER_WAY = [status.value for status in EventStatus if status not in ENDED]
TYPES = type_names()

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class ReaderOverview:
    name: str
    verdict: str
    reason: str
    answered_at: datetime | None
    ended_at: datetime | None

    def lag(self, since: datetime, at: datetime) -> float:
        """Return how many seconds after the change the reader had it, or how long it has been without it."""
        return max(0.0, ((self.ended_at or at) - since).total_seconds())


@dataclass(frozen=True)
class EventOverview:
    event: AppEvent
    coordinated: WriterEvent | None
    readers: list[ReaderOverview]
    processed: int
    """How many payloads all readers have processed."""
    steps: list[tuple[str, str]] = field(default_factory=list)
    """Each step and when it was first taken."""
    silent_readers: list[str] = field(default_factory=list)
    """Those whose own steps are missing: their databases have not answered."""

    @property
    def type(self) -> str:
        return TYPES.get(self.event.app_event_type_id, "")

    @property
    def status(self) -> EventStatus:
        return shown_status(self.event, self.coordinated)


def shown_status(event: AppEvent, coordinated: WriterEvent | None) -> EventStatus:
    """Return the status of an event as a whole; it has not ended before it has on the Writer."""
    if event.status in ENDED or coordinated is None or coordinated.status == EventStatus.CREATED:
        return event.status
    ending = {EventStatus.COMMITTED: EventStatus.COMMITTING, EventStatus.CANCELED: EventStatus.CANCELING}
    return ending.get(coordinated.status, coordinated.status)


def events_in_status(status: EventStatus | None) -> QuerySet[AppEvent]:
    """Select the events that are shown in a status; None: all."""
    if status is None:
        return AppEvent.objects.all()
    if status in ENDED:
        return AppEvent.objects.filter(app_event_status_id=status.value)
    # Not `exclude`: the index by status leads to the few that have not ended.
    under_way = AppEvent.objects.filter(app_event_status_id__in=UNDER_WAY)
    return under_way.alias(shown=_shown()).filter(shown=status.value)


def unended_of(reader: str) -> QuerySet[WriterEventReader]:
    """Select what a reader has not ended: how far it is behind."""
    return WriterEventReader.objects.filter(name=reader, ended_at__isnull=True)


def get_event(event_id: int) -> EventOverview:
    event = AppEvent.objects.filter(pk=event_id).first() if 0 < event_id < 2**63 else None
    if event is None:
        raise EventNotFound
    return view_events([event], with_readers_steps=True)[0]


def view_events(events: Sequence[AppEvent], *, with_readers_steps: bool = False) -> list[EventOverview]:
    """Return what all roles know of events; the steps of readers are read from their own databases."""
    ids = [event.pk for event in events]
    coordinated = WriterEvent.objects.in_bulk(ids)
    readers = _readers(ids)
    processed = _count_processed(ids)
    more, silent = _readers_steps(ids) if with_readers_steps else ({}, [])
    return [
        EventOverview(
            event,
            coordinated.get(event.pk),
            readers.get(event.pk) or [ReaderOverview(name, "waiting", "", None, None) for name in reader_names()],
            # Of a committed one all are, also when the copies that were counted are gone.
            event.payload_count if event.status == EventStatus.COMMITTED else processed.get(event.pk, 0),
            _steps(event.steps, getattr(coordinated.get(event.pk), "steps", {}), *more.get(event.pk, [])),
            silent,
        )
        for event in events
    ]


@dataclass(frozen=True)
class Lag:
    reader: str
    waiting: int
    """Events that this reader has not ended."""
    since: datetime | None
    """When the oldest of them was made."""


def reader_lags() -> list[Lag]:
    """Return how far each reader is behind; events that are not activated yet do not count."""
    open_rows = WriterEventReader.objects.filter(ended_at__isnull=True)
    rows = open_rows.order_by().values_list("name").annotate(count=Count("pk"), oldest=Min("writer_event__date"))
    found = {name: (count, oldest) for name, count, oldest in rows}
    return [Lag(name, *found.get(name, (0, None))) for name in reader_names()]


def failed_compensations() -> QuerySet[AppEvent]:
    """Return the change sets whose compensation waits for a person."""
    return AppEvent.objects.filter(app_event_status_id=EventStatus.COMPENSATION_FAILED.value)


def _shown() -> Coalesce:
    """Return `shown_status` as an expression, for events that have not ended."""
    known = Subquery(
        WriterEvent.objects.filter(pk=OuterRef("pk"))
        .exclude(app_event_status_id=EventStatus.CREATED.value)
        .annotate(
            shown=Case(
                When(app_event_status_id=EventStatus.COMMITTED.value, then=Value(EventStatus.COMMITTING.value)),
                When(app_event_status_id=EventStatus.CANCELED.value, then=Value(EventStatus.CANCELING.value)),
                default=F("app_event_status_id"),
                output_field=IntegerField(),
            )
        )
        .values("shown")
    )
    return Coalesce(known, F("app_event_status_id"), output_field=IntegerField())


def _readers(ids: list[int]) -> dict[int, list[ReaderOverview]]:
    found: defaultdict[int, list[ReaderOverview]] = defaultdict(list)
    for row in WriterEventReader.objects.filter(writer_event__in=in_number_array(ids)).order_by("name"):
        view = ReaderOverview(row.name, row.verdict, row.reason, row.answered_at, row.ended_at)
        found[row.writer_event_id].append(view)
    return found


def _count_processed(ids: list[int]) -> dict[int, int]:
    rows = WriterEventPayload.objects.filter(
        writer_event__in=in_number_array(ids), app_event_payload_status_id=PayloadStatus.PROCESSED.value
    )
    return dict(rows.order_by().values_list("writer_event").annotate(count=Count("pk")))


def _readers_steps(ids: list[int]) -> tuple[dict[int, list[dict[str, str]]], list[str]]:
    """Return the steps that each reader took, and the readers whose databases do not answer.

    A call waits for one silent database alone: those that have not been asked by then are left out as well.
    """
    found: defaultdict[int, list[dict[str, str]]] = defaultdict(list)
    silent = []
    until = time.monotonic() + ANSWER_SECONDS
    for name in reader_names():
        if time.monotonic() >= until:
            silent.append(name)
            continue
        alias = reader_alias(name)
        try:
            with ask_reader(alias):
                for pk, steps in ReaderEvent.objects.using(alias).filter(pk__in=ids).values_list("pk", "steps"):
                    found[pk].append(steps)
        except (ReaderAway, Busy, DatabaseError) as error:
            log.warning("coordination.reader_left_out", reader=name, error=str(error))
            silent.append(name)
    return found, silent


def _steps(*noted: dict[str, str]) -> list[tuple[str, str]]:
    """Merge the steps of all roles, in the order of their numbers; of several readers the first time."""
    first: dict[str, str] = {}
    for steps in noted:
        for number, at in unpack_steps(steps).items():
            first[number] = min(at, first.get(number, at))
    # "waits" has no number, and stands last.
    return sorted(first.items(), key=lambda item: [int(part) if part.isdigit() else 99 for part in item[0].split(".")])
