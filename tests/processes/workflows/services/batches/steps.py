"""Batches made and done in few words."""

from typing import Any
from uuid import UUID

from django.utils import timezone

from processes.workflows.heads import Head
from processes.workflows.models import BatchItem, WorkflowBatch, WorkflowInstance
from processes.workflows.services.batches.create import BatchRequest, create_batch, get_batch
from processes.workflows.services.batches.run import run_due_batches
from tests.processes.workflows.scene import ACTOR


def make(operation: str, *heads: Head | UUID, dry_run: bool = False, **parameters: Any) -> WorkflowBatch:
    keys = [head if isinstance(head, UUID) else head.id for head in heads]
    request = BatchRequest(operation, parameters, is_dry_run=dry_run)
    return create_batch(request, WorkflowInstance.objects.filter(pk__in=keys), actor=ACTOR)


def finish(batch: WorkflowBatch) -> WorkflowBatch:
    """Do what is due until the batch is over."""
    for _ in range(100):
        if not get_batch(batch.pk).is_under_way:
            break
        run_due_batches()
    return get_batch(batch.pk)


def do(operation: str, *heads: Head | UUID, dry_run: bool = False, **parameters: Any) -> WorkflowBatch:
    return finish(make(operation, *heads, dry_run=dry_run, **parameters))


def make_due(batch: WorkflowBatch) -> None:
    """Let the lease of whoever has died be over."""
    WorkflowBatch.objects.filter(pk=batch.pk).update(due_at=timezone.now())


def outcomes(batch: WorkflowBatch) -> dict[UUID, tuple[str, str]]:
    rows = BatchItem.objects.filter(batch=batch)
    return {item.instance: (item.status, item.reason) for item in rows}
