"""Begin an instance: its row, its first version and all that follows from it, at once."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from config.common.correlation import correlation_id
from config.common.database.sql import fetch_row
from config.common.errors import Invalid
from processes.workflows import errors
from processes.workflows.engine.execution.errors import CommandFailed, CommandRejected
from processes.workflows.heads import PACKAGE, Head, get_head
from processes.workflows.ids import new_instance_id
from processes.workflows.models import WorkflowDefinition
from processes.workflows.models.instance import Status
from processes.workflows.services.execution import head_after, run_command
from processes.workflows.services.incidents import open_incident
from processes.workflows.services.planning import CommandRequest, plan_step
from processes.workflows.services.recent import cache_head
from processes.workflows.services.steps import NewInstance, Step
from processes.workflows.services.write_step import write_step

LONGEST_RECORD = 200


@dataclass(frozen=True)
class StartRequest:
    """What an instance begins with."""

    definition: str
    revision: int | None = None
    """The newest, unless one is named."""
    record: str = ""
    variables: Mapping[str, Any] | None = None
    start: str | None = None
    """The start event, where it is not the plain one."""
    start_key: str | None = None
    """What begins it, where that must begin one instance only: a second time is an `IntegrityError`."""
    cause: str = "start"
    position: int = 0
    """Of the event that begins it."""
    hops: int = 0
    """How long the chain is that has led to that event."""
    refusal: str = ""
    """Why it is not to run: it stays as created, with an incident."""


def start_instance(wanted: StartRequest, *, actor: str, at: datetime) -> Head:
    """Begin an instance; one whose start fails stays as created, with an incident to be retried."""
    if len(wanted.record) > LONGEST_RECORD:
        rule = gettext("Must have at most %(count)s characters.") % {"count": LONGEST_RECORD}
        raise Invalid({"record": [rule]})
    head = _created(wanted, at=at)
    order = CommandRequest(_command(head, wanted), actor=actor, at=at, cause=wanted.cause, position=wanted.position)
    if wanted.refusal:
        return _keep_failed(head, order, wanted, CommandFailed(wanted.start or "", wanted.refusal))
    try:
        outcome = run_command(head, order)
        step = plan_step(head, order, outcome.state, outcome.effects)
    except CommandRejected as refusal:
        raise errors.NotPossible(reason=refusal.reason) from refusal
    except CommandFailed as failure:
        return _keep_failed(head, order, wanted, failure)
    status = write_step(replace(step, beginning=_beginning(wanted)))
    assert status is not None
    begun = head_after(head, step, outcome.state, status)
    cache_head(begun)
    return begun


def _created(wanted: StartRequest, *, at: datetime) -> Head:
    found = fetch_row(PACKAGE, "find_revision", [wanted.definition, wanted.revision])
    if found is None:
        known = WorkflowDefinition.objects.filter(pk=wanted.definition).exists()
        raise errors.RevisionNotFound if known else errors.DefinitionNotFound
    revision_id, revision, enterprise = found
    return Head(
        id=new_instance_id(),
        definition=wanted.definition,
        revision_id=revision_id,
        revision=revision,
        record=wanted.record,
        status=Status.ACTIVE,
        number=0,
        epoch=0,
        open_incidents=0,
        started_at=at,
        ended_at=None,
        enterprise=enterprise,
        at=at,
        state_status=Status.ACTIVE,
        state=None,
    )


def _command(head: Head, wanted: StartRequest) -> dict[str, Any]:
    command: dict[str, Any] = {
        "command": "start",
        "definition": [head.definition, head.revision],
        "record": wanted.record,
        "variables": dict(wanted.variables or {}),
    }
    if wanted.hops:
        command["hops"] = wanted.hops
    return command if wanted.start is None else {**command, "start": wanted.start}


def _beginning(wanted: StartRequest) -> NewInstance:
    return {"definition": wanted.definition, "start_key": wanted.start_key}


def _keep_failed(head: Head, order: CommandRequest, wanted: StartRequest, failure: CommandFailed) -> Head:
    created = Step(
        instance_id=head.id,
        head=0,
        open_incidents=0,
        parent=None,
        revision_id=head.revision_id,
        epoch=0,
        record=head.record,
        status=Status.ACTIVE,
        ended_at=None,
        cause="created",
        actor=order.actor[:160],
        at=order.at,
        correlation_id=correlation_id(),
        skeleton="",
        beginning=_beginning(wanted),
    )
    with transaction.atomic():
        write_step(created)
        opened = open_incident(get_head(head.id), order, element=failure.element, reason=failure.reason)
    assert opened is not None
    return opened
