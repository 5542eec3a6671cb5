"""Steps of a trace: the change sets that a call made, and how they ended."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext, pgettext

from config.audit.trace import Standing, TraceStep, Upcoming
from config.common.times import parse_time
from processes.coordination.admin.presentation import format_type
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
        # A failed compensation has not ended: the time of the failure stands for its end.
        noted = event.steps.get(ENDED.get(event.status, ""))
        ended_at = event.ended_at or (None if noted is None else parse_time(noted))
        made = _step(event, event.date, pgettext("change set", "created"))
        if ended_at is None:
            yield replace(made, standing=Standing.OPEN, upcoming=(Upcoming(gettext("waiting for its readers")),))
            continue
        yield made
        ended = _step(event, ended_at, pgettext("change set", "ended"), outcome=event.status.title)
        yield replace(ended, continues=True, **_end(event))


def _end(event: AppEvent) -> dict[str, Any]:
    """Return how an event that has ended stands, who decided it, and what is still to come of it."""
    if event.status == EventStatus.COMMITTED:
        return {"standing": Standing.DONE}
    waits = event.status == EventStatus.COMPENSATION_FAILED
    upcoming = (Upcoming(gettext("waiting for a decision")),) if waits else ()
    return {"standing": Standing.FAILED, "upcoming": upcoming, "actor": event.resolved_by}


def _step(event: AppEvent, at: datetime, words: str, *, outcome: str | None = None) -> TraceStep:
    type = format_type(event.app_event_type_id)
    data = {
        "type": TYPES.get(event.app_event_type_id, str(event.app_event_type_id)),
        "payloads": event.payload_count,
        "reason": format_reason(event.reason),
    }
    page = reverse("admin:coordination_appevent_change", args=[event.pk])
    return TraceStep(at, "coordination", event.pk, f"{type}: {words}", outcome, data, page)
