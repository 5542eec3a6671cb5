"""Commands as callers give them: checked by field, with public ids; a retry of an incident is one of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext, gettext_noop

from config.common.background.ring import ring
from config.common.errors import Invalid
from processes.workflows.errors import NotPossible, VersionConflict
from processes.workflows.heads import Head, get_head
from processes.workflows.ids import local_id
from processes.workflows.models import WorkflowEffect, WorkflowIncident, WorkItem
from processes.workflows.services.execution import execute_command
from processes.workflows.services.incidents import DISPATCH_EFFECT, RETRY_TASK, resolve_incidents
from processes.workflows.services.steps import CommandRequest
from processes.workflows.services.work_names import EFFECTS, JOBS

RETRY_INCIDENT = "retry_incident"
FIELDS: dict[str, tuple[str, ...]] = {
    "complete_task": ("task", "variables"),
    "send_message": ("name", "variables"),
    "set_variables": ("variables",),
    "suspend": (),
    "resume": (),
    "terminate": (),
    RETRY_INCIDENT: ("note", "variables", "incident"),
    "migrate": ("revision",),
    "close": (),
    "start": ("item",),
    "occur": ("item",),
    "disable": ("item",),
    "reenable": ("item",),
    "suspend_item": ("item",),
    "resume_item": ("item",),
    "terminate_item": ("item",),
    "complete_item": ("item",),
}
_TYPES: dict[str, type] = {
    "task": str,
    "name": str,
    "item": str,
    "variables": dict,
    "note": str,
    "incident": int,
    "revision": int,
}
_REQUIRED = {"task", "name", "item", "revision"}
OVERTAKEN = gettext_noop("the instance has gone on without it")


def command_instance(
    instance_id: UUID, body: Mapping[str, Any], *, actor: str, at: datetime, expected_version: int | None = None
) -> Head:
    """Check and run a command of a caller; return the instance after it."""
    command = _check(body)
    if command["command"] == RETRY_INCIDENT:
        retry = RetryRequest(
            actor=actor,
            at=at,
            note=command.get("note", ""),
            variables=command.get("variables", {}),
            incident_id=command.get("incident"),
            expected_version=expected_version,
        )
        return retry_incident(instance_id, retry)
    task_id = command.get("task", "")
    for name in ("task", "item"):
        if name in command:
            command[name] = local_id(instance_id, command[name])
    request = CommandRequest(command, actor=actor, at=at, expected_version=expected_version, task_id=task_id)
    return execute_command(instance_id, request)


def _check(body: Mapping[str, Any]) -> dict[str, Any]:
    name = body.get("command")
    if not isinstance(name, str) or name not in FIELDS:
        raise Invalid({"command": [gettext("Must be one of %(names)s.") % {"names": ", ".join(FIELDS)}]})
    faults: dict[str, list[str]] = {}
    command: dict[str, Any] = {"command": name}
    for key, value in body.items():
        if key == "command":
            continue
        if key not in FIELDS[name]:
            faults[key] = [gettext("This command has no such field.")]
        # JSON's true and false are instances of int in Python, and no field is a boolean.
        elif not isinstance(value, _TYPES[key]) or isinstance(value, bool):
            faults[key] = [gettext("Must be of another type.")]
        else:
            command[key] = value
    for key in _REQUIRED.intersection(FIELDS[name]).difference(body):
        faults[key] = [gettext("Is required.")]
    if faults:
        raise Invalid(faults)
    return command


@dataclass(frozen=True)
class RetryRequest:
    actor: str
    at: datetime
    note: str = ""
    variables: Mapping[str, Any] = field(default_factory=dict)
    incident_id: int | None = None
    """None: the oldest that is open."""
    expected_version: int | None = None


def retry_incident(instance_id: UUID, retry: RetryRequest) -> Head:
    """Repeat what an incident is about; where that is no longer possible, the incident is closed."""
    head = get_head(instance_id)
    if retry.expected_version not in (None, head.number):
        raise VersionConflict(version=head.number)
    incident = _get_incident(instance_id, retry.incident_id)
    if incident.command["command"] == DISPATCH_EFFECT:
        return _dispatch_again(incident, retry)
    if incident.command["command"] == RETRY_TASK:
        return _offer_again(incident, retry)
    return _run_again(incident, retry)


def _get_incident(instance_id: UUID, incident_id: int | None) -> WorkflowIncident:
    rows = WorkflowIncident.objects.filter(instance=instance_id, status=WorkflowIncident.Status.OPEN)
    incident = (rows if incident_id is None else rows.filter(pk=incident_id)).order_by("pk").first()
    if incident is None:
        raise NotPossible(reason="There is no open incident.")
    return incident


def _dispatch_again(incident: WorkflowIncident, retry: RetryRequest) -> Head:
    """Make a refused effect due once more; here the variables replace its inputs."""
    with transaction.atomic():
        head = _close(incident, retry, note=retry.note)
        rows = WorkflowEffect.objects.filter(instance=head.id, local=incident.command["effect"])
        effect = rows.filter(status=WorkflowEffect.Status.REFUSED).first()
        if effect is not None:
            inputs = {**msgspec.json.decode(effect.inputs), **retry.variables}
            rows.update(
                status=WorkflowEffect.Status.WAITING,
                inputs=msgspec.json.encode(inputs).decode(),
                due_at=Now(),
                fence=F("fence") + 1,
            )
        ring(EFFECTS)
    return head


def _offer_again(incident: WorkflowIncident, retry: RetryRequest) -> Head:
    """Give failed work one more try."""
    if retry.variables:
        command = {"command": "set_variables", "variables": dict(retry.variables)}
        request = CommandRequest(command, actor=retry.actor, at=retry.at, expected_version=retry.expected_version)
        execute_command(incident.instance_id, request)
    with transaction.atomic():
        head = _close(incident, retry, note=retry.note)
        # Nobody may claim work of a suspended instance: a resume makes it due.
        due_at = None if head.state_status == "suspended" else Now()
        items = WorkItem.objects.filter(instance=head.id, local=incident.command["task"], status=WorkItem.Status.OPEN)
        items.update(retries=1, due_at=due_at, fence=F("fence") + 1)
        ring(JOBS)
    return head


def _run_again(incident: WorkflowIncident, retry: RetryRequest) -> Head:
    """Run the failed command again, as the first of a new chain."""
    command = {**incident.command, "hops": 0}  # a person has looked at it: the chain of automatic steps ends here
    request = CommandRequest(
        command,
        actor=retry.actor,
        at=retry.at,
        expected_version=retry.expected_version,
        taken_key=command.pop("taken_key", None),
        position=command.pop("position", 0),
        variables=retry.variables,
    )
    try:
        head = execute_command(incident.instance_id, request)
    except NotPossible:
        if get_head(incident.instance_id).state_status == "suspended":
            raise
        return _close(incident, retry, note=retry.note or OVERTAKEN)
    WorkflowIncident.objects.filter(pk=incident.pk).update(note=retry.note)
    return head


def _close(incident: WorkflowIncident, retry: RetryRequest, *, note: str) -> Head:
    with transaction.atomic():
        get_head(incident.instance_id, lock=True)
        resolve_incidents(incident.instance_id, Q(pk=incident.pk), note=note, actor=retry.actor, at=retry.at)
        return get_head(incident.instance_id)
