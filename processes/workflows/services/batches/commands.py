"""A command for many instances: a version each, by few trips to the database.

A dry run plans the same steps and writes none.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from processes.workflows.engine.execution.errors import CommandFailed, CommandRejected
from processes.workflows.engine.runner import InstanceState
from processes.workflows.heads import Head
from processes.workflows.models import BatchItem, WorkflowBatch, WorkflowInstance, WorkflowRevision
from processes.workflows.selectors import load_heads
from processes.workflows.services.batches.outcomes import GONE, Outcome, Status
from processes.workflows.services.commands import run_engine
from processes.workflows.services.incidents import open_incident
from processes.workflows.services.plan_step import plan_step
from processes.workflows.services.steps import CommandRequest, Step
from processes.workflows.services.write_step import apply_consequences, find_consequences, write_steps

LONGEST_PLAN = 0.3
"""Seconds after which a transaction takes no further instance: meanwhile SQLite lets nobody else write."""
NO_REVISION = "The definition has no revision of this number that can be run."


@dataclass(frozen=True)
class _Planned:
    head: Head
    request: CommandRequest
    step: Step
    state: InstanceState


def command_each(batch: WorkflowBatch, items: Sequence[BatchItem], *, at: datetime) -> list[Outcome]:
    """Command the instances of these items, in a transaction; return what became of those that its time was enough for.

    The items come in the order of their instances: two batches over the same ones wait for each other, never crosswise.
    """
    began = time.monotonic()
    is_dry_run = batch.status == WorkflowBatch.Status.CHECKING
    waiting = {item.instance: item for item in items}
    rows = WorkflowInstance.objects.filter(pk__in=waiting).order_by("pk").only("pk")
    # A statement of its own, before their heads are read: no command moves one of them from here on.
    instances = list(rows if is_dry_run else rows.select_for_update(no_key=True))
    outcomes: list[Outcome] = []
    planned: list[_Planned] = []
    make_request = _request_maker(batch, at)
    for head in load_heads(instances):
        item = waiting.pop(head.id)
        found = _plan(head, make_request(head), is_dry_run=is_dry_run)
        if isinstance(found, str):
            outcomes.append(Outcome(item.pk, Status.REFUSED, reason=found))
        else:
            planned.append(found)
            status = Status.POSSIBLE if is_dry_run else Status.CHANGED
            outcomes.append(Outcome(item.pk, status, before=head.number, after=found.step.number))
        if time.monotonic() - began > LONGEST_PLAN:
            break
    else:
        outcomes += [Outcome(item.pk, Status.REFUSED, reason=GONE) for item in waiting.values()]
    if not is_dry_run:
        _write(planned)
    return outcomes


def _request_maker(batch: WorkflowBatch, at: datetime) -> Callable[[Head], CommandRequest | None]:
    """Return what makes the request for an instance; it gives None where the definition has no such revision."""
    command: dict[str, Any] = {"command": batch.operation, **msgspec.json.decode(batch.parameters)}
    if batch.operation != WorkflowBatch.Operation.MIGRATE:
        request = CommandRequest(command, actor=batch.actor, at=at)
        return lambda head: request
    revisions: dict[str, int | None] = {}

    def make(head: Head) -> CommandRequest | None:
        if head.definition not in revisions:
            rows = WorkflowRevision.objects.filter(definition=head.definition, number=command["revision"])
            revisions[head.definition] = rows.filter(is_executable=True).values_list("pk", flat=True).first()
        found = revisions[head.definition]
        return None if found is None else CommandRequest(command, actor=batch.actor, at=at, revision_id=found)

    return make


def _plan(head: Head, request: CommandRequest | None, *, is_dry_run: bool) -> _Planned | str:
    """Plan the step of an instance, or return why there is none; what failed has an incident then, as always."""
    if request is None:
        return NO_REVISION
    try:
        outcome = run_engine(head, request)
        return _Planned(head, request, plan_step(head, request, outcome), outcome.state)
    except CommandRejected as refusal:
        return refusal.reason
    except CommandFailed as failure:
        if not is_dry_run:
            open_incident(head, request, element=failure.element, reason=failure.reason)
        return failure.reason


def _write(planned: Sequence[_Planned]) -> None:
    statuses = write_steps([each.step for each in planned])
    assert None not in statuses, "a head has moved while its instance was locked"
    for each in planned:
        consequences = find_consequences(each.head, each.request, each.step, each.state)
        if consequences:
            apply_consequences(consequences, each.head, each.request, each.step, each.state)
