"""Make a batch of the instances that are chosen; carry out one that was tried out, stop one, undo one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.utils.translation import gettext

from config.common.background.ring import ring
from config.common.correlation import correlation_id
from config.common.database.sql import bulk_execute
from config.common.errors import Invalid
from config.common.text import is_storable
from processes.workflows.errors import BatchNotFound, NotPossible, TooManyBatches, TooManyInstances
from processes.workflows.heads import PACKAGE
from processes.workflows.models import BatchItem, WorkflowBatch, WorkflowInstance
from processes.workflows.models.instance import Status
from processes.workflows.services.work_names import BATCHES

Run = WorkflowBatch.Status
MOST_INSTANCES = 10_000
MOST_UNDER_WAY = 20
MOST_BATCHES = 1_000
"""That are remembered; retention deletes the old ones."""
NOT_ENDED = (Status.ACTIVE, Status.INCIDENT, Status.SUSPENDED)
FIELDS = {
    WorkflowBatch.Operation.RETRY: ("note",),
    WorkflowBatch.Operation.MIGRATE: ("revision", "elements"),
    WorkflowBatch.Operation.SET_VARIABLES: ("variables",),
}
_REQUIRED = ("revision", "variables")


@dataclass(frozen=True)
class BatchRequest:
    operation: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    wanted: Mapping[str, Any] = field(default_factory=dict)
    """By what the instances are chosen, to be shown."""
    is_dry_run: bool = False
    ended_too: bool = True
    """Else those alone that an operation could change."""


def create_batch(request: BatchRequest, chosen: QuerySet[WorkflowInstance], *, actor: str) -> WorkflowBatch:
    """Remember the chosen instances and begin with them, in the background."""
    _check(request)
    keys = _find_keys(request, chosen)
    if len(keys) > MOST_INSTANCES:
        raise TooManyInstances(most=MOST_INSTANCES)
    if WorkflowBatch.objects.filter(due_at__isnull=False)[:MOST_UNDER_WAY].count() == MOST_UNDER_WAY:
        raise TooManyBatches(most=MOST_UNDER_WAY)
    if WorkflowBatch.objects.all()[:MOST_BATCHES].count() == MOST_BATCHES:
        raise TooManyBatches(most=MOST_BATCHES)
    with transaction.atomic():
        batch = WorkflowBatch.objects.create(
            operation=request.operation,
            parameters=_encode(request.parameters),
            wanted=_encode(request.wanted),
            status=Run.CHECKING if request.is_dry_run else Run.RUNNING,
            total=len(keys),
            actor=actor[:160],
            due_at=Now(),
            correlation_id=correlation_id(),
        )
        bulk_execute(PACKAGE, "add_batch_items", [(batch.pk, key) for key in keys])
        ring(BATCHES)
    return get_batch(batch.pk)


def get_batch(batch_id: UUID) -> WorkflowBatch:
    batch = WorkflowBatch.objects.filter(pk=batch_id).first()
    if batch is None:
        raise BatchNotFound
    return batch


def carry_out(batch_id: UUID, *, actor: str) -> WorkflowBatch:
    """Do what a dry run has tried out, over the same instances, or continue what was stopped.

    Each instance is judged anew when its turn comes.
    """
    with transaction.atomic():
        if WorkflowBatch.objects.filter(pk=batch_id, status=Run.STOPPED).exists():
            _move(batch_id, [Run.STOPPED], Run.RUNNING, actor=actor[:160], stopped_by="")
        else:
            _move(batch_id, [Run.CHECKED], Run.RUNNING, changed=0, refused=0, actor=actor[:160])
            BatchItem.objects.filter(batch=batch_id).update(status=BatchItem.Status.WAITING, reason="")
        ring(BATCHES)
    return get_batch(batch_id)


def stop_batch(batch_id: UUID, *, actor: str) -> WorkflowBatch:
    """Leave the instances alone that a batch has not come to; those that it has changed stay changed."""
    # The fence: whoever is in the middle of a slice writes none of it.
    stopped = WorkflowBatch.objects.filter(pk=batch_id, status=Run.RUNNING).update(
        status=Run.STOPPED, due_at=None, ended_at=Now(), fence=F("fence") + 1, stopped_by=actor[:160]
    )
    batch = get_batch(batch_id)
    if not stopped:
        raise NotPossible(reason="Only a batch that is under way can be stopped.")
    return batch


def undo_batch(batch_id: UUID, *, reason: str, actor: str) -> WorkflowBatch:
    """Return the instances that nobody has changed since to the versions before the batch, in the background."""
    reason = reason.strip()[:180]
    if not is_storable(reason):
        raise Invalid({"reason": [gettext("The character NUL cannot be stored.")]})
    with transaction.atomic():
        batch = _move(batch_id, [Run.DONE, Run.STOPPED], Run.UNDOING, undone_by=actor[:160], reason=reason)
        if not batch.changed:
            raise NotPossible(reason="The batch has changed nothing.")
        ring(BATCHES)
    return batch


def _move(batch_id: UUID, before: Sequence[str], after: str, **changes: Any) -> WorkflowBatch:
    """Begin the next run of a batch, by compare-and-set: of two that ask for it one is refused."""
    rows = WorkflowBatch.objects.filter(pk=batch_id, status__in=before)
    if not rows.update(status=after, due_at=Now(), ended_at=None, **changes):
        get_batch(batch_id)
        raise NotPossible(
            reason="Only a dry run or a stopped batch can be carried out."
            if after == Run.RUNNING
            else "Only a batch that is done or stopped can be undone, once."
        )
    return get_batch(batch_id)


def _find_keys(request: BatchRequest, chosen: QuerySet[WorkflowInstance]) -> list[UUID]:
    """Return the ids of the chosen instances, and no more than show that they are too many."""
    # Status by status: each is answered by an index in its order, where all three together would read the history.
    parts = [chosen] if request.ended_too else [chosen.filter(status=status) for status in NOT_ENDED]
    keys: list[UUID] = []
    for rows in parts:
        keys += rows.order_by("-id").values_list("pk", flat=True)[: MOST_INSTANCES + 1 - len(keys)]
    return list(dict.fromkeys(keys))  # one may have moved on from a status to the next meanwhile


def _check(request: BatchRequest) -> None:
    fields = FIELDS.get(WorkflowBatch.Operation(request.operation), ())
    faults = {name: [gettext("This operation has no such field.")] for name in request.parameters if name not in fields}
    for name in _REQUIRED:
        if name in fields and not request.parameters.get(name):
            faults[name] = [gettext("This field is required.")]
    faults |= {
        name: [gettext("The character NUL cannot be stored.")]
        for name, value in request.parameters.items()
        if not is_storable(value)
    }
    if faults:
        raise Invalid(faults)


def _encode(values: Mapping[str, Any]) -> str:
    return msgspec.json.encode(values).decode()
