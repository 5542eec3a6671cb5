"""Steps of a trace: the change sets that a call made, and how they ended."""

from collections.abc import Iterator
from datetime import datetime

from django.urls import reverse
from django.utils.translation import pgettext

from config.audit.trace import TraceStep
from config.common.times import parse_time
from processes.coordination.models import AppEvent
from processes.coordination.protocol.reasons import format_reason
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.schema.entities import type_names

TYPES = type_names()
ENDED = {EventStatus.COMMITTED: "34.7", EventStatus.CANCELED: "35.7", EventStatus.COMPENSATION_FAILED: "35.7"}
"""The statuses in which an event ends on the Writer, and the step by which it does."""


def trace_events(correlation_id: str, most: int) -> Iterator[TraceStep]:
    rows = AppEvent.objects.filter(correlation_id=correlation_id).order_by("date", "pk")
    for event in rows[:most]:
        yield _step(event, event.date, pgettext("change set", "made"))
        ended_at = _ended_at(event)
        if ended_at is not None:
            yield _step(event, ended_at, pgettext("change set", "ended"), outcome=event.status.title)


def _ended_at(event: AppEvent) -> datetime | None:
    """Return when an event ended; for a failed compensation, which has not, the time of the failure."""
    noted = event.steps.get(ENDED.get(event.status, ""))
    return event.ended_at or (None if noted is None else parse_time(noted))


def _step(event: AppEvent, at: datetime, words: str, *, outcome: str | None = None) -> TraceStep:
    type = TYPES.get(event.app_event_type_id, str(event.app_event_type_id))
    data = {"type": type, "payloads": event.payload_count, "reason": format_reason(event.reason)}
    page = reverse("admin:coordination_appevent_change", args=[event.pk])
    return TraceStep(at, "coordination", event.pk, f"{type}: {words}", outcome, data, page)
