"""Try again what has failed, with other variables where that helps."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_noop

from config.common.background.ring import ring
from processes.workflows.errors import NotPossible, VersionConflict
from processes.workflows.heads import Head, get_head
from processes.workflows.models import WorkflowEffect, WorkflowIncident, WorkItem
from processes.workflows.services.effects.dispatch import DISPATCH_EFFECT
from processes.workflows.services.execution import execute_command
from processes.workflows.services.failing import RETRY_TASK
from processes.workflows.services.incidents import resolve_incidents
from processes.workflows.services.planning import CommandRequest
from processes.workflows.services.work_names import EFFECTS, JOBS

OVERTAKEN = gettext_noop("the instance has gone on without it")


@dataclass(frozen=True)
class RetryRequest:
    actor: str
    at: datetime
    note: str = ""
    variables: Mapping[str, Any] = field(default_factory=dict)
    incident_id: int | None = None
    """The oldest that is open, unless one is named."""
    expected_version: int | None = None


def retry_incident(instance_id: UUID, wanted: RetryRequest) -> Head:
    """Try again what an incident is about; what is not possible any more is closed, for there is nothing to be done."""
    head = get_head(instance_id)
    if wanted.expected_version not in (None, head.number):
        raise VersionConflict(version=head.number)
    incident = _find(instance_id, wanted.incident_id)
    command = incident.command
    if command["command"] == DISPATCH_EFFECT:
        return _leave_again(incident, wanted)
    if command["command"] == RETRY_TASK:
        return _offer_again(incident, wanted)
    return _run_again(incident, wanted)


def _find(instance_id: UUID, incident_id: int | None) -> WorkflowIncident:
    rows = WorkflowIncident.objects.filter(instance=instance_id, status=WorkflowIncident.Status.OPEN)
    incident = (rows if incident_id is None else rows.filter(pk=incident_id)).order_by("pk").first()
    if incident is None:
        raise NotPossible(reason="There is no open incident.")
    return incident


def _run_again(incident: WorkflowIncident, wanted: RetryRequest) -> Head:
    """Run the command again; whoever was refused by it before is let through once."""
    command = {**incident.command, "hops": 0}  # a person begins a new chain
    order = CommandRequest(
        command,
        actor=wanted.actor,
        at=wanted.at,
        expected_version=wanted.expected_version,
        taken_key=command.pop("taken_key", None),
        position=command.pop("position", 0),
        variables=wanted.variables,
    )
    try:
        head = execute_command(incident.instance_id, order)
    except NotPossible:
        if get_head(incident.instance_id).state_status == "suspended":
            raise
        return _close(incident, wanted, note=wanted.note or OVERTAKEN)
    WorkflowIncident.objects.filter(pk=incident.pk).update(note=wanted.note)
    return head


def _offer_again(incident: WorkflowIncident, wanted: RetryRequest) -> Head:
    """Give work that failed one more try."""
    if wanted.variables:
        command = {"command": "set_variables", "variables": dict(wanted.variables)}
        order = CommandRequest(command, actor=wanted.actor, at=wanted.at, expected_version=wanted.expected_version)
        execute_command(incident.instance_id, order)
    with transaction.atomic():
        head = _close(incident, wanted, note=wanted.note)
        is_held = head.state_status == "suspended"
        items = WorkItem.objects.filter(instance=head.id, local=incident.command["task"], status=WorkItem.Status.OPEN)
        items.update(retries=1, due_at=None if is_held else Now(), fence=F("fence") + 1)
        ring(JOBS)
    return head


def _leave_again(incident: WorkflowIncident, wanted: RetryRequest) -> Head:
    """Let an effect that was refused leave once more; here the variables are its inputs."""
    with transaction.atomic():
        head = _close(incident, wanted, note=wanted.note)
        rows = WorkflowEffect.objects.filter(instance=head.id, local=incident.command["effect"])
        effect = rows.filter(status=WorkflowEffect.Status.REFUSED).first()
        if effect is not None:
            inputs = {**msgspec.json.decode(effect.inputs), **wanted.variables}
            rows.update(
                status=WorkflowEffect.Status.WAITING,
                inputs=msgspec.json.encode(inputs).decode(),
                due_at=Now(),
                fence=F("fence") + 1,
            )
        ring(EFFECTS)
    return head


def _close(incident: WorkflowIncident, wanted: RetryRequest, *, note: str) -> Head:
    with transaction.atomic():
        get_head(incident.instance_id, lock=True)
        resolve_incidents(incident.instance_id, Q(pk=incident.pk), note=note, actor=wanted.actor, at=wanted.at)
        return get_head(incident.instance_id)
