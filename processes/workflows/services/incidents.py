"""What could not go through: kept with its command, told to staff, closed when it is overtaken or has been retried."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils.translation import gettext_noop

from config.common.correlation import correlation_id
from config.common.text import clean_text
from notifications.services.alerts import close_alert, raise_alert
from processes.workflows.heads import Head
from processes.workflows.ids import subject_of
from processes.workflows.models import WorkflowIncident, WorkflowInstance, WorkflowTimer, WorkflowVersion, WorkItem
from processes.workflows.models.instance import ENDED, Status
from processes.workflows.services.planning import CommandRequest
from processes.workflows.services.steps import Step

ALERT = "workflow.incident"
TITLE = gettext_noop("Workflow %(definition)s of %(record)s cannot go on at %(element)s: %(cause)s")
EFFECT = "effect:"


def derive_about(order: CommandRequest) -> str:
    """Name what of the instance a command is about: it has one open incident at most."""
    command = order.command
    if order.taken_key is not None:
        return f"event:{order.taken_key}"
    for key in ("task", "timer"):
        if key in command:
            return f"{key}:{command[key]}"[:300]
    return f"{command['command']}:{command['name']}"[:300] if "name" in command else str(command["command"])


def open_incident(head: Head, order: CommandRequest, *, element: str, reason: str) -> Head | None:
    """Keep a command that failed; return the instance, or None if it has moved meanwhile and is to be tried again."""
    with transaction.atomic():
        instance = WorkflowInstance.objects.select_for_update(no_key=True).get(pk=head.id)
        if instance.head != head.number:
            return None
        about = derive_about(order)
        command = {**order.command, "taken_key": order.taken_key, "position": order.position}
        record_incident(instance, about, command, element=element, reason=reason, at=order.at)
        _hold(head.id, about)
    return replace(head, status=instance.status, open_incidents=instance.open_incidents)


def record_incident(
    instance: WorkflowInstance, about: str, command: Mapping[str, Any], *, element: str, reason: str, at: datetime
) -> None:
    """Write the incident of an instance that is locked, or count it again; and tell staff."""
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
    named = {"definition": instance.definition_id, "record": instance.record or str(instance.pk)}
    told = {**named, "element": element, "cause": reason[:200]}
    raise_alert(ALERT, subject_of(instance.pk), TITLE, {**told, "instance": str(instance.pk)})


def awaits_operator(subject: str) -> bool:
    """Say whether the instance of an alert has an incident that nobody has settled."""
    instance = UUID(subject.removeprefix(subject_of("")))
    return WorkflowIncident.objects.filter(instance=instance, status=WorkflowIncident.Status.OPEN).exists()


def close_overtaken_incidents(head: Head, step: Step, *, about: str) -> str:
    """Close what a step has overtaken: what it was about, what is waited for no more, everything at the end.

    Effects that were refused are another matter. Return the status of the instance, which the step has locked.
    """
    overtaken = Q(about__in=[about, *_gone(step)])
    if step.status in ENDED:
        overtaken |= ~Q(about__startswith=EFFECT)
    return resolve_incidents(head.id, overtaken, note="", actor=step.actor, at=step.at)


def resolve_incidents(instance_id: UUID, those: Q, *, note: str, actor: str, at: datetime) -> str:
    """Close incidents of an instance that is locked; return its status."""
    rows: QuerySet[WorkflowIncident] = WorkflowIncident.objects.filter(those, instance=instance_id)
    rows = rows.filter(status=WorkflowIncident.Status.OPEN)
    closed = rows.update(status=WorkflowIncident.Status.RESOLVED, resolved_at=at, note=note, actor=actor[:160])
    instance = WorkflowInstance.objects.get(pk=instance_id)
    if closed:
        instance.open_incidents -= closed
        if not instance.open_incidents:
            versions = WorkflowVersion.objects.filter(instance=instance, number=instance.head)
            instance.status = versions.values_list("status", flat=True).get()
            close_alert(ALERT, subject_of(instance_id), note or gettext_noop("the workflow goes on"))
        instance.save(update_fields=["open_incidents", "status"])
    return instance.status


def _gone(step: Step) -> list[str]:
    tasks = [f"task:{item['local']}" for item in step.mirror.items_closed]
    return [*tasks, *(f"timer:{local}" for local in step.mirror.timers_gone)]


def _hold(instance_id: UUID, about: str) -> None:
    """Let a timer or a job that failed wait for its incident to be retried."""
    what, _, local = about.partition(":")
    rows: QuerySet[Any]
    if what == "timer":
        rows = WorkflowTimer.objects.filter(instance=instance_id, local=local)
    elif what == "task":
        rows = WorkItem.objects.filter(instance=instance_id, local=local, status=WorkItem.Status.OPEN)
    else:
        return
    rows.update(due_at=None, fence=F("fence") + 1)
