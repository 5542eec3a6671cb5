"""Begin instances by events."""

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
from processes.workflows.services.events.subscribers import evaluate, format_record, get_bpmn_event
from processes.workflows.services.start import StartRequest, start_instance

KIND = "workflow"
LONG_CHAIN = 5
"""From so many hops on, an event that begins an instance may be one that in the end begins itself more than once."""
MOST_STARTS = 100
"""Instances of a definition in a minute, beyond which a long chain begins no more that run."""
MOST_REFUSED = 100
"""So many more are kept with an incident each; what comes then is told by the log alone."""
TOO_MANY = f"A chain of events would begin more than {MOST_STARTS} instances of one definition in a minute."
NOT_STARTED = gettext_noop("%(definition)s was not started by %(event)s: %(cause)s")


def start_by_event(arrival: Arrival, element: EventElement) -> None:
    """Begin an instance, if the element wants this event and has not begun one by it before."""
    try:
        record = _record(arrival, element)
        if record is None:
            return
        wanted = StartRequest(
            element.revision.definition_id,
            revision=element.revision.number,
            record=record,
            variables=_variables(arrival.payload),
            start=element.element,
            start_key=f"event:{arrival.id}:{element.revision_id}:{element.element}"[:300],
            cause=f"event {arrival.type}",
            position=arrival.position,
            hops=arrival.hops,
        )
        _start(wanted)
    except CommandFailed as failure:
        _log(arrival, element, failure.reason)
    except NotPossible as refusal:
        _log(arrival, element, str(refusal.data.get("reason")))


def _record(arrival: Arrival, element: EventElement) -> str | None:
    """Return what the instance is about, or None if the element does not want the event."""
    event = get_bpmn_event(element.revision.definition_id, element.revision.number, element.element)
    record = arrival.record
    if event.correlation is not None:
        value = evaluate(event.correlation, arrival.names, element.element)
        if value is None or value is False:
            return None
        record = record if value is True else format_record(value)
    if event.filter is not None and not evaluate(event.filter, arrival.names, element.element):
        return None
    return record


def _variables(payload: Any) -> dict[str, Any]:
    """Give the parts of what is told that can be variables."""
    if not isinstance(payload, dict):
        return {}
    return {name: value for name, value in payload.items() if is_name(name) and is_json(value)}


def _start(wanted: StartRequest) -> None:
    if WorkflowInstance.objects.filter(start_key=wanted.start_key).exists():
        return
    at = timezone.now()
    begun = _begun_lately(wanted.definition, at=at) if wanted.hops >= LONG_CHAIN else 0
    if begun >= MOST_STARTS + MOST_REFUSED:
        raise NotPossible(reason=TOO_MANY)
    try:
        start_instance(replace(wanted, refusal=TOO_MANY if begun >= MOST_STARTS else ""), actor=ACTOR, at=at)
    except IntegrityError:
        if not WorkflowInstance.objects.filter(start_key=wanted.start_key).exists():
            raise


def _begun_lately(definition: str, *, at: datetime) -> int:
    """Count the instances of the last minute, as far as it matters; their ids are in the order of time."""
    since = int((at - timedelta(minutes=1)).timestamp() * 1000)
    rows = WorkflowInstance.objects.filter(definition=definition, pk__gte=UUID(int=since << 80))
    return len(rows.values_list("pk")[: MOST_STARTS + MOST_REFUSED])


def _log(arrival: Arrival, element: EventElement, cause: str) -> None:
    told = {"definition": element.revision.definition_id, "event": arrival.type, "cause": cause[:300]}
    subject = f"definition/{element.revision.definition_id}"[:120]
    write_log_entry(level=LogEntry.Level.WARNING, kind=KIND, subject=subject, template=NOT_STARTED, data=told)
