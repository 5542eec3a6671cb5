"""Start instances by events, with a limit on how many a chain of events may start."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import IntegrityError
from django.utils import timezone
from django.utils.translation import gettext_noop

from config.audit.log import write_log_entry
from config.records.models import LogEntry
from processes.workflows.engine.execution.errors import CommandFailed
from processes.workflows.engine.execution.limits import is_json, is_name
from processes.workflows.errors import NotPossible
from processes.workflows.models import EventElement, WorkflowInstance
from processes.workflows.services.events.arrivals import ACTOR, Arrival
from processes.workflows.services.events.subscribers import evaluate_or_fail, format_record, get_bpmn_event
from processes.workflows.services.start import StartRequest, start_instance

KIND = "workflow"
LONG_CHAIN = 5
"""From so many events on that have led to one another, one may be such as in the end starts itself more than once."""
MOST_STARTS = 100
"""Instances of a definition in a minute, beyond which a long chain starts none that run."""
MOST_REFUSED = 100
"""So many more are created with an incident each; any others are only logged."""
TOO_MANY = f"A chain of events would begin more than {MOST_STARTS} instances of one definition in a minute."
NOT_STARTED = gettext_noop("%(event)s did not start %(definition)s: %(cause)s")


def start_by_event(arrival: Arrival, element: EventElement) -> None:
    """Start an instance if the start event accepts this event and has not started one by it before."""
    try:
        record = _find_record(arrival, element)
        if record is None:
            return
        fields = arrival.payload if isinstance(arrival.payload, dict) else {}
        start = StartRequest(
            element.revision.definition_id,
            revision=element.revision.number,
            record=record,
            variables={name: value for name, value in fields.items() if is_name(name) and is_json(value)},
            start=element.element,
            start_key=f"event:{arrival.id}:{element.revision_id}:{element.element}"[:300],
            cause=f"event {arrival.type}",
            position=arrival.position,
            hops=arrival.hops,
            generation=arrival.generation,
        )
        _start_once(start)
    except CommandFailed as failure:
        _log(arrival, element, failure.reason)
    except NotPossible as refusal:
        _log(arrival, element, str(refusal.data.get("reason")))


def _find_record(arrival: Arrival, element: EventElement) -> str | None:
    """Return the record of the new instance, or None if the start event does not accept the event."""
    event = get_bpmn_event(element.revision.definition_id, element.revision.number, element.element)
    record = arrival.record
    if event.correlation is not None:
        value = evaluate_or_fail(event.correlation, arrival.names, element.element)
        if value is None or value is False:
            return None
        record = record if value is True else format_record(value)
    if event.filter is not None and not evaluate_or_fail(event.filter, arrival.names, element.element):
        return None
    return record


def _start_once(start: StartRequest) -> None:
    if WorkflowInstance.objects.filter(start_key=start.start_key).exists():
        return
    at = timezone.now()
    started = _count_recent_starts(start.definition, at=at) if start.generation >= LONG_CHAIN else 0
    if started >= MOST_STARTS + MOST_REFUSED:
        raise NotPossible(reason=TOO_MANY)
    try:
        start_instance(replace(start, refusal=TOO_MANY if started >= MOST_STARTS else ""), actor=ACTOR, at=at)
    except IntegrityError:
        if not WorkflowInstance.objects.filter(start_key=start.start_key).exists():
            raise


def _count_recent_starts(definition: str, *, at: datetime) -> int:
    """Count the instances of the last minute, as far as the limits reach."""
    # Ids are UUIDs of version 7: the first 48 bits are milliseconds, so the primary key finds them.
    since = int((at - timedelta(minutes=1)).timestamp() * 1000)
    oldest = UUID(int=since << 80)
    rows = WorkflowInstance.objects.filter(definition=definition, pk__gte=oldest)
    return len(rows.values_list("pk")[: MOST_STARTS + MOST_REFUSED])


def _log(arrival: Arrival, element: EventElement, cause: str) -> None:
    data: dict[str, Any] = {
        "definition": element.revision.definition_id,
        "event": arrival.type,
        "cause": cause[:300],
    }
    subject = f"definition/{element.revision.definition_id}"[:120]
    write_log_entry(level=LogEntry.Level.WARNING, kind=KIND, subject=subject, template=NOT_STARTED, data=data)
