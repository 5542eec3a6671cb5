"""Do batches that are due, slice by slice: whoever dies has committed whole slices, and another goes on later.

A slice is one transaction: the instances, what became of each, and the counts, under the fence of the claim. So each
instance is changed once, however many try.
"""

import time
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import structlog
from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from config.common.correlation import correlated
from config.common.database.batches import run_or_bisect, write_with_retries
from config.common.database.leases import LeaseLost, claim, finish
from config.common.database.sql import bulk_execute
from processes.workflows.heads import PACKAGE
from processes.workflows.models import BatchItem, WorkflowBatch
from processes.workflows.services.batches.commands import command_each
from processes.workflows.services.batches.outcomes import UNEXPECTED, Outcome
from processes.workflows.services.batches.retries import retry_each, return_each

SLICE = 100
"""Instances of one transaction."""
TURN = timedelta(seconds=2)
"""After it another batch has its turn."""
LEASE = timedelta(seconds=30)

Run = WorkflowBatch.Status
AFTERWARDS = {Run.CHECKING: Run.CHECKED, Run.RUNNING: Run.DONE, Run.UNDOING: Run.UNDONE}
COUNTED = {
    BatchItem.Status.POSSIBLE: "changed",
    BatchItem.Status.CHANGED: "changed",
    BatchItem.Status.REFUSED: "refused",
    BatchItem.Status.UNDONE: "undone",
    BatchItem.Status.KEPT: "kept",
}
"""The column of a batch that counts them."""

log = structlog.get_logger(__name__)


def run_due_batches() -> bool:
    """Go on with the batch that is due for longest; return whether there was one."""
    claimed = claim(WorkflowBatch.objects.all(), limit=1, lease=LEASE)
    for batch in claimed:
        with correlated(batch.correlation_id or None):
            try:
                _take_turn(batch)
            except LeaseLost:
                log.info("workflows.batch_overtaken", batch=str(batch.pk))
    return bool(claimed)


def _take_turn(batch: WorkflowBatch) -> None:
    """Do slices until the batch or the turn is over; at least one, however slow the machine is."""
    ends_at = time.monotonic() + TURN.total_seconds()
    while items := list(_ahead(batch)[:SLICE]):
        run_or_bisect(
            items,
            lambda part: write_with_retries(lambda: _run_slice(batch, part)),
            lambda item, error: _give_up(batch, item, error),
            is_of_item=lambda error: not isinstance(error, LeaseLost),
        )
        if time.monotonic() > ends_at:
            finish(batch, due_at=Now())
            return
    finish(batch, status=AFTERWARDS[Run(batch.status)], due_at=None, ended_at=Now())


def _ahead(batch: WorkflowBatch) -> QuerySet[BatchItem]:
    status = BatchItem.Status.CHANGED if batch.status == Run.UNDOING else BatchItem.Status.WAITING
    return BatchItem.objects.filter(batch=batch, status=status).order_by("instance")


def _run_slice(batch: WorkflowBatch, items: Sequence[BatchItem]) -> None:
    with transaction.atomic():
        # Read again: a slice whose commit was not answered is repeated, and may have been written.
        ahead = list(_ahead(batch).filter(pk__in=[item.pk for item in items]))
        if batch.status == Run.UNDOING:
            act = return_each
        else:
            act = retry_each if batch.operation == WorkflowBatch.Operation.RETRY else command_each
        _settle(batch, act(batch, ahead, at=timezone.now()))


def _give_up(batch: WorkflowBatch, item: BatchItem, error: Exception) -> None:
    """Leave out an instance that nothing is known to be wrong with, so that the others are done."""
    log.error("workflows.batch_item_failed", batch=str(batch.pk), instance=str(item.instance), exc_info=error)
    status = BatchItem.Status.KEPT if batch.status == Run.UNDOING else BatchItem.Status.REFUSED
    with transaction.atomic():
        _settle(batch, [Outcome(item.pk, status, before=item.before, after=item.after, reason=UNEXPECTED)])


def _settle(batch: WorkflowBatch, outcomes: Sequence[Outcome]) -> None:
    """Write what became of instances, and hold the batch for longer; whoever was overtaken writes nothing of it all."""
    bulk_execute(PACKAGE, "settle_batch_items", [outcome.row for outcome in outcomes])
    counts = Counter(COUNTED[BatchItem.Status(outcome.status)] for outcome in outcomes)
    changes: dict[str, Any] = {column: F(column) + count for column, count in counts.items()}
    finish(batch, due_at=Now() + LEASE, **changes)
