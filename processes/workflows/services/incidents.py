"""Incidents: a command, timer, task or effect that failed, kept for a retry, with one alert for staff per instance."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext_noop

from config.common.correlation import correlation_id
from config.common.database.sql import in_array
from config.common.text import clean_text
from notifications.services.alerts import close_alert, raise_alert
from processes.workflows.element_names import name_in_words
from processes.workflows.heads import Head
from processes.workflows.models import WorkflowIncident, WorkflowInstance, WorkflowTimer, WorkflowVersion, WorkItem
from processes.workflows.models.instance import ENDED, Status
from processes.workflows.services.shadow.inputs import encode_input, write_input
from processes.workflows.services.steps import CommandRequest, Step
from processes.workflows.subjects import subject_of

ALERT = "workflow.incident"
TITLE = gettext_noop("Workflow “%(definition)s” of %(record)s is stuck at “%(element)s”: %(cause)s")
EFFECT = "effect:"
# Incidents of work and of effects have these in the place of an engine command: they say what a retry must do.
RETRY_TASK = "retry_task"
DISPATCH_EFFECT = "leave"
FAIL_JOB = "fail_job"


def derive_about(request: CommandRequest) -> str:
    """Return the key of what a command is about: an instance has at most one open incident under each."""
    command = request.command
    if request.taken_key is not None:
        return f"event:{request.taken_key}"
    for key in ("task", "timer"):
        if key in command:
            return f"{key}:{command[key]}"[:300]
    return f"{command['command']}:{command['name']}"[:300] if "name" in command else str(command["command"])


def open_incident(
    head: Head, request: CommandRequest, *, element: str, reason: str, is_heard: bool = True
) -> Head | None:
    """Record a failed command; return the instance, or None if it has moved meanwhile and the command may fit now.

    The shadow of the instance hears of it, unless the engine was not even asked.
    """
    with transaction.atomic():
        instance = WorkflowInstance.objects.select_for_update(no_key=True).get(pk=head.id)
        if instance.head != head.number:
            return None
        about = derive_about(request)
        command: dict[str, Any] = {**request.command, "taken_key": request.taken_key, "position": request.position}
        if command["command"] == FAIL_JOB:
            # An error that nothing catches: whoever did the work tries once more, for the same error would fail again.
            command = {"command": RETRY_TASK, "task": command["task"]}
        record_incident(instance, about, command, element=element, reason=reason, at=request.at)
        _withhold(head.id, about)
        if is_heard and head.shadow is not None:
            write_input(head.shadow, head.id, head.number, encode_input(request, failure=(element, reason)))
    return replace(head, status=instance.status, open_incidents=instance.open_incidents)


def _withhold(instance_id: UUID, about: str) -> None:
    """Take the due time from a failed timer or job, so that only a retry of its incident repeats it."""
    what, _, local = about.partition(":")
    rows: QuerySet[Any]
    if what == "timer":
        rows = WorkflowTimer.objects.filter(instance=instance_id, local=local)
    elif what == "task":
        rows = WorkItem.objects.filter(instance=instance_id, local=local, status=WorkItem.Status.OPEN)
    else:
        return
    rows.update(due_at=None, fence=F("fence") + 1)


def record_incident(
    instance: WorkflowInstance, about: str, command: Mapping[str, Any], *, element: str, reason: str, at: datetime
) -> None:
    """Write an incident of a locked instance, or count an open one about the same again; raise its alert."""
    element, reason = clean_text(element, 200), clean_text(reason, 2000)
    again = WorkflowIncident.objects.filter(instance=instance, about=about, status=WorkflowIncident.Status.OPEN)
    if not again.update(command=command, element=element, reason=reason, times=F("times") + 1):
        WorkflowIncident.objects.create(
            instance=instance,
            about=about,
            command=command,
            element=element,
            reason=reason,
            opened_at=at,
            correlation_id=correlation_id(),
        )
        instance.open_incidents += 1
        if instance.status in (Status.ACTIVE, Status.COMPLETED):
            instance.status = Status.INCIDENT
        instance.save(update_fields=["open_incidents", "status"])
    name, place = name_in_words(instance.definition_id, instance.revision_id, element)
    data = {
        "definition": name,
        "record": instance.record or str(instance.pk),
        "element": place,
        "cause": reason[:200],
        "instance": str(instance.pk),
    }
    raise_alert(ALERT, subject_of(instance.pk), TITLE, data)


def awaits_operator(subject: str) -> bool:
    """Tell whether the instance of an alert still has an open incident."""
    instance = UUID(subject.removeprefix(subject_of("")))
    return WorkflowIncident.objects.filter(instance=instance, status=WorkflowIncident.Status.OPEN).exists()


def close_overtaken_incidents(head: Head, step: Step, *, about: str) -> str:
    """Close the incidents that a step has made moot; return the status of the instance, which the step has locked.

    Those are what the command was about, tasks and timers that are gone, and at the end of the instance all others.
    """
    tasks_gone = [f"task:{item['local']}" for item in step.open_work.items_closed]
    timers_gone = [f"timer:{local}" for local in step.open_work.timers_gone]
    overtaken = Q(about__in=in_array([about, *tasks_gone, *timers_gone]))
    if step.status in ENDED:
        # A refused effect is still to be dispatched, however its instance has gone on.
        overtaken |= ~Q(about__startswith=EFFECT)
    return resolve_incidents(head.id, overtaken, note="", actor=step.actor, at=step.at)


def resolve_incidents(instance_id: UUID, those: Q, *, note: str, actor: str, at: datetime) -> str:
    """Close open incidents of a locked instance; return its status, which is the head's again after the last."""
    rows: QuerySet[WorkflowIncident] = WorkflowIncident.objects.filter(those, instance=instance_id)
    rows = rows.filter(status=WorkflowIncident.Status.OPEN)
    closed = rows.update(status=WorkflowIncident.Status.RESOLVED, resolved_at=at, note=note, actor=actor[:160])
    instance = WorkflowInstance.objects.get(pk=instance_id)
    if closed:
        instance.open_incidents -= closed
        if not instance.open_incidents:
            versions = WorkflowVersion.objects.filter(instance=instance, number=instance.head)
            instance.status = versions.values_list("status", flat=True).get()
            close_alert(ALERT, subject_of(instance_id), note or gettext_noop("the workflow continues"))
        instance.save(update_fields=["open_incidents", "status"])
    return instance.status
