"""Steps 34.1 and 35.1: commit what every reader has processed; cancel what one refuses or what is past its deadline.

An event of the registry is never cancelled: staff are alerted, it gives its turn to others, and the readers that refuse
are asked again until they agree.
"""

from collections.abc import Collection
from datetime import datetime

from django.conf import settings
from django.db.models import F
from django.utils.translation import gettext_noop

from config.common.database.sql import in_number_array
from notifications.services.alerts import raise_alert
from processes.coordination.coordinator.answers import (
    SILENT,
    find_open_waiting_alerts,
    mark_waiting,
    raise_waiting_alert,
)
from processes.coordination.coordinator.reader_progress import Verdict
from processes.coordination.models import CoordinatorState, Progress, RoleLife, WriterEvent, WriterEventReader
from processes.coordination.protocol.reasons import decode_reason, encode_reason
from processes.coordination.protocol.statuses import UNDECIDED, EventStatus
from processes.coordination.protocol.steps import REPEAT_AFTER, take_step, with_ids
from processes.coordination.schema.routing import reader_names
from processes.coordination.subjects import subject_of_reader

REFUSED = "coordination.refused"
REFUSES = gettext_noop("Reader %(reader)s refuses change set %(event)s: %(reason)s")
LETS_WAIT = gettext_noop("Change set %(event)s is waiting: reader %(reader)s refuses it: %(reason)s")
NO_ANSWER = gettext_noop("Reader %(reader)s did not answer about change set %(event)s in time")
MOST = 500


def decide_processed_events(*, at: datetime) -> bool:
    """Decide on the events whose readers have all answered, or one of them with a refusal."""
    rows = WriterEvent.objects.filter(app_event_status_id=EventStatus.PROCESSED.value, is_published=False)
    events = list(rows.order_by("position").values_list("pk", flat=True)[:MOST])
    verdicts = _read_verdicts(events)
    agreed = [event for event in events if verdicts[event] == {Verdict.PROCESSED}]
    committing = take_step("34.1", WriterEvent.objects.all(), agreed, at=at, again_at=at + REPEAT_AFTER)
    refusals = WriterEventReader.objects.filter(
        writer_event__in=set(events).difference(agreed), verdict=Verdict.REFUSED
    )
    refused = {row.writer_event_id: row for row in refusals.select_related("writer_event").order_by("-pk")}
    alerted = find_open_waiting_alerts(refused)
    for refusal in sorted(refused.values(), key=lambda row: row.writer_event.position):
        _refuse(refusal.writer_event, refusal, is_alerted=refusal.writer_event_id in alerted, at=at)
    return bool(committing)


def enforce_deadlines(state: CoordinatorState, *, at: datetime) -> None:
    """Cancel events that a reader has not answered in time; the clock stands while a role is not alive."""
    rows = WriterEvent.objects.filter(
        app_event_status_id__in=[status.value for status in UNDECIDED],
        clock__lt=state.clock - settings.COORDINATION_DEADLINE,
        is_waiting=False,
    )
    for event in rows.order_by("position").prefetch_related("readers")[:MOST]:
        silent = _find_silent_readers(event)
        if not silent and event.status == EventStatus.PROCESSED:  # the last answer has just come: it is decided upon
            continue
        for row in silent:
            detail = {"reader": row.name, "event": event.pk}
            raise_alert(SILENT, subject_of_reader(row.name), NO_ANSWER, detail)
            RoleLife.objects.filter(name=subject_of_reader(row.name)).update(is_silent=True)
        if event.is_undone:
            names = ", ".join(row.name for row in silent)
            _cancel(event, encode_reason(NO_ANSWER, reader=names, event=event.pk), at=at)
        else:
            mark_waiting(event.pk, at=at)  # the alert about the silent reader stands for all events that wait for it


def request_new_verdicts(events: Collection[int], *, at: datetime) -> list[int]:
    """Let the readers that refuse events judge them once more; return the events that are published for that."""
    refusing = WriterEventReader.objects.filter(writer_event__in=in_number_array(events), verdict=Verdict.REFUSED)
    asked = sorted(set(refusing.values_list("writer_event_id", flat=True)))
    refusing.update(progress=Progress.PREPARING, verdict=Verdict.WAITING)
    with_ids(WriterEvent.objects.all(), asked).update(
        app_event_status_id=EventStatus.PREPARED.value, is_published=False, again_at=at + REPEAT_AFTER
    )
    return asked


def _find_silent_readers(event: WriterEvent) -> list[WriterEventReader]:
    """Return the readers that have not answered the last message that all were sent."""
    configured = set(reader_names())
    rows = [row for row in event.readers.all() if row.name in configured]
    if event.status == EventStatus.ACTIVATED:
        return [row for row in rows if row.progress < Progress.PREPARING]
    if event.status == EventStatus.PREPARING:
        had = [row.bit for row in rows if not event.payloads.alias(had=F("prepared_by").bitand(row.bit)).filter(had=0)]
        return [row for row in rows if row.bit not in had]
    return [row for row in rows if row.progress < Progress.PROCESSED]


def _read_verdicts(events: list[int]) -> dict[int, set[str]]:
    """Return the verdicts of the configured readers of each event."""
    verdicts: dict[int, set[str]] = {event: set() for event in events}
    if events:
        rows = WriterEventReader.objects.filter(writer_event__in=in_number_array(events), name__in=reader_names())
        for event, verdict in rows.values_list("writer_event_id", "verdict"):
            verdicts[event].add(verdict)
    return verdicts


def _refuse(event: WriterEvent, refusal: WriterEventReader, *, is_alerted: bool, at: datetime) -> None:
    detail = {"reader": refusal.name, "event": event.pk, "reason": decode_reason(refusal.reason)}
    if not event.is_undone:
        if not is_alerted:  # it may have waited for a silent reader before
            raise_waiting_alert(event.pk, LETS_WAIT, detail)
        if not event.is_waiting:
            mark_waiting(event.pk, at=at)
        # Decided for now: else a thousand of them would be all that is ever looked at.
        WriterEvent.objects.filter(pk=event.pk).update(is_published=True)
        return
    raise_alert(REFUSED, subject_of_reader(refusal.name), REFUSES, detail)
    _cancel(
        event, encode_reason("%(reader)s: %(reason)s", reader=refusal.name, reason=decode_reason(refusal.reason)), at=at
    )


def _cancel(event: WriterEvent, reason: str, *, at: datetime) -> None:
    take_step("35.1", WriterEvent.objects.all(), [event.pk], at=at, reason=reason[:500], again_at=at + REPEAT_AFTER)
