"""How far events and their readers are: read once for a batch of answers, and kept up to date with what they change.

The Coordinator's state is locked all the while, so nobody else moves them.
"""

from collections import defaultdict
from dataclasses import dataclass

from django.db.models import F
from django.db.models.lookups import Exact

from config.common.database.sql import in_number_array
from processes.coordination.models import Progress, WriterEvent, WriterEventPayload, WriterEventReader
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.protocol.steps import with_ids
from processes.coordination.protocol.transitions import BY_NUMBER
from processes.coordination.schema.routing import reader_names

Verdict = WriterEventReader.Verdict
STEPS_OF_ALL_READERS = (
    ("18", Progress.PREPARING),
    ("23", None),
    ("27", Progress.PROCESSING),
    ("33", Progress.PROCESSED),
    ("34.5", Progress.COMMITTED),
    ("35.5", Progress.CANCELED),
)
"""Steps that wait for all readers, and the progress that each of them must have; 23 waits for the payloads."""


@dataclass
class ReaderProgress:
    """A row of `WriterEventReader`, as far as the steps depend on it."""

    bit: int
    progress: int
    verdict: str


class BatchProgress:
    """The statuses of some events, and the progress of their readers."""

    def __init__(self, events: list[int]) -> None:
        self._configured = set(reader_names())
        rows = with_ids(WriterEvent.objects.all(), events).order_by()
        self.statuses = {pk: EventStatus(status) for pk, status in rows.values_list("pk", "app_event_status_id")}
        self.readers: defaultdict[int, dict[str, ReaderProgress]] = defaultdict(dict)
        of_readers = WriterEventReader.objects.filter(writer_event__in=in_number_array(events))
        columns = of_readers.values_list("writer_event_id", "name", "bit", "progress", "verdict")
        for pk, name, bit, progress, verdict in columns:
            self.readers[pk][name] = ReaderProgress(bit, progress, verdict)

    def mask(self, event: int) -> int:
        """Return the bits of all configured readers of an event."""
        return sum(each.bit for each in self._configured_readers(event))

    def paths(self) -> dict[int, list[str]]:
        """Return the steps that each event may take now, one after the other."""
        unprepared = self._find_unprepared()
        return {event: self._path(event, is_prepared=event not in unprepared) for event in self.statuses}

    def _path(self, event: int, *, is_prepared: bool) -> list[str]:
        status, readers, path = self.statuses[event], self._configured_readers(event), list[str]()
        for number, progress in STEPS_OF_ALL_READERS:
            step = BY_NUMBER[number]
            if status not in step.only_from:
                continue
            if progress is None:
                may = is_prepared
            else:
                may = bool(readers) and all(each.progress >= progress for each in readers)
            if may or (number == "33" and self._is_refused(event)):
                assert step.to is not None
                status = step.to[0]
                path.append(number)
        return path

    def _find_unprepared(self) -> set[int]:
        """Return the events with a payload that a reader does not have; queried only for those that wait for it."""
        waiting: defaultdict[int, list[int]] = defaultdict(list)
        for pk, status in self.statuses.items():
            if status in (EventStatus.ACTIVATED, EventStatus.PREPARING):
                waiting[self.mask(pk)].append(pk)
        found: set[int] = set()
        # Not by the payloads' statuses: those were written when other readers may have been configured.
        for mask, events in waiting.items():
            rows = WriterEventPayload.objects.filter(writer_event__in=in_number_array(events))
            lacking = rows.exclude(Exact(F("prepared_by").bitand(mask), mask))
            found.update(lacking.values_list("writer_event_id", flat=True))
        return found

    def _configured_readers(self, event: int) -> list[ReaderProgress]:
        return [each for name, each in self.readers[event].items() if name in self._configured]

    def _is_refused(self, event: int) -> bool:
        return any(each.verdict == Verdict.REFUSED for each in self.readers[event].values())
