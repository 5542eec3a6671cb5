"""Start an instance: its row, its first version and the rows that follow from it, in one statement."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext

from config.common.correlation import correlation_id
from config.common.database.sql import fetch_row
from config.common.errors import Conflict, Invalid
from config.records.form_claims import SentTwice, claim_form
from processes.workflows import errors
from processes.workflows.engine.execution.errors import CommandFailed, CommandRejected
from processes.workflows.heads import PACKAGE, Head, cache_head, get_head
from processes.workflows.ids import new_instance_id
from processes.workflows.models import WorkflowDefinition, WorkflowInstance
from processes.workflows.models.instance import Status
from processes.workflows.services.commands import head_after, run_engine
from processes.workflows.services.incidents import open_incident
from processes.workflows.services.plan_step import plan_step
from processes.workflows.services.steps import CommandRequest, NewInstance, Step
from processes.workflows.services.write_step import write_step

LONGEST_RECORD = 200


class StartedBefore(Conflict):
    """This form has already been sent; the instance it started has since been deleted."""


@dataclass(frozen=True)
class StartRequest:
    definition: str
    revision: int | None = None
    """None: the newest."""
    record: str = ""
    variables: Mapping[str, Any] | None = None
    start: str | None = None
    """The start event; None: the plain one."""
    start_key: str | None = None
    """Names the event, timer or form that may start one instance only: a second one is an `IntegrityError`."""
    cause: str = "start"
    position: int = 0
    """The outbox position of the event that starts it."""
    hops: int = 0
    """The length of the chain of automatic steps that has led to that event."""
    generation: int = 0
    """How many events have led to one another until that one, whatever was waited for between them."""
    refusal: str = ""
    """Why it may not run: it is created with an incident and without a state."""


def start_instance(start: StartRequest, *, actor: str, at: datetime) -> Head:
    """Start an instance and return it; one whose start fails is created with an incident that can be retried."""
    if len(start.record) > LONGEST_RECORD:
        rule = gettext("Must have at most %(count)s characters.") % {"count": LONGEST_RECORD}
        raise Invalid({"record": [rule]})
    head = _new_head(start, at=at)
    request = CommandRequest(_command(head, start), actor=actor, at=at, cause=start.cause, position=start.position)
    new_instance: NewInstance = {"definition": start.definition, "start_key": start.start_key}
    if start.refusal:
        # No shadow hears of it: the engine was not asked, and would not refuse it.
        head = replace(head, shadow=None)
        return _create_failed(head, request, new_instance, CommandFailed(start.start or "", start.refusal))
    try:
        outcome = run_engine(head, request)
        step = plan_step(head, request, outcome)
    except CommandRejected as refusal:
        raise errors.NotPossible(reason=refusal.reason) from refusal
    except CommandFailed as failure:
        return _create_failed(head, request, new_instance, failure)
    status = write_step(replace(step, new_instance=new_instance))
    assert status is not None
    started = head_after(head, step, outcome.state, status)
    cache_head(started)
    return started


def start_from_form(start: StartRequest, *, form_id: UUID, actor: str, at: datetime) -> UUID:
    """Start one instance for a form, however often it is sent; return the id of that instance each time."""
    key = f"form:{form_id.hex}"
    known = _find_started(key)
    if known is not None:
        return known
    try:
        with transaction.atomic():
            claim_form(form_id, purpose="workflow-start")
            return start_instance(replace(start, start_key=key), actor=actor, at=at).id
    except SentTwice as error:
        # The other request may have committed since the look above; retention may have deleted its instance.
        known = _find_started(key)
        if known is None:
            raise StartedBefore from error
        return known


def _find_started(key: str) -> UUID | None:
    return WorkflowInstance.objects.filter(start_key=key).values_list("pk", flat=True).first()


def _new_head(start: StartRequest, *, at: datetime) -> Head:
    found = fetch_row(PACKAGE, "find_revision", [start.definition, start.revision])
    if found is None:
        known = WorkflowDefinition.objects.filter(pk=start.definition).exists()
        raise errors.RevisionNotFound if known else errors.DefinitionNotFound
    revision_id, revision, enterprise, is_executable, shadow = found
    if not is_executable:
        raise errors.NotPossible(reason="This revision cannot be run: it is kept to look at.")
    return Head(
        id=new_instance_id(),
        definition=start.definition,
        revision_id=revision_id,
        revision=revision,
        record=start.record,
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
        shadow=shadow,
    )


def _command(head: Head, start: StartRequest) -> dict[str, Any]:
    command: dict[str, Any] = {
        "command": "start",
        "definition": [head.definition, head.revision],
        "record": start.record,
        "variables": dict(start.variables or {}),
    }
    if start.hops:
        command["hops"] = start.hops
    if start.generation:
        command["generation"] = start.generation
    return command if start.start is None else {**command, "start": start.start}


def _create_failed(head: Head, request: CommandRequest, new_instance: NewInstance, failure: CommandFailed) -> Head:
    """Create an instance whose start has failed: a first version without a state, and the incident."""
    created = Step(
        instance_id=head.id,
        head=0,
        open_incidents=0,
        number=1,
        parent=None,
        revision_id=head.revision_id,
        epoch=0,
        record=head.record,
        status=Status.ACTIVE,
        ended_at=None,
        cause="created",
        actor=request.actor[:160],
        at=request.at,
        correlation_id=correlation_id(),
        skeleton="",
        new_instance=new_instance,
        shadow=head.shadow,
    )
    with transaction.atomic():
        write_step(created)
        opened = open_incident(get_head(head.id), request, element=failure.element, reason=failure.reason)
    assert opened is not None
    return opened
