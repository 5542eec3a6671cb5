"""Retries and returns of many instances, one by one, each in a savepoint of its own."""

import time
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec
from django.db import transaction

from config.common.errors import ApplicationError
from processes.workflows.errors import NotPossible
from processes.workflows.heads import get_head
from processes.workflows.models import BatchItem, WorkflowBatch, WorkflowIncident
from processes.workflows.services.batches.commands import LONGEST_PLAN
from processes.workflows.services.batches.outcomes import UNVERSIONED, Outcome, Status, explain_refusal
from processes.workflows.services.commands import RetryRequest, retry_incident
from processes.workflows.services.returns import return_if_unchanged

MOST_RETRIED = 20
"""Incidents of one instance."""
UNDONE = "the batch was undone"


def retry_each(batch: WorkflowBatch, items: Sequence[BatchItem], *, at: datetime) -> list[Outcome]:
    """Retry the open incidents of instances; a dry run does the same and takes it back."""
    return _each(items, lambda item: _retry(batch, item, at))


def return_each(batch: WorkflowBatch, items: Sequence[BatchItem], *, at: datetime) -> list[Outcome]:
    """Return instances that nobody has changed since to the versions that they had before the batch."""
    return _each(items, lambda item: _return(batch, item, at))


def _each(items: Sequence[BatchItem], act: Callable[[BatchItem], Outcome]) -> list[Outcome]:
    began = time.monotonic()
    outcomes: list[Outcome] = []
    for item in items:
        outcomes.append(act(item))
        if time.monotonic() - began > LONGEST_PLAN:
            break
    return outcomes


def _retry(batch: WorkflowBatch, item: BatchItem, at: datetime) -> Outcome:
    is_dry_run = batch.status == WorkflowBatch.Status.CHECKING
    note = msgspec.json.decode(batch.parameters).get("note", "")
    try:
        with transaction.atomic():
            before = get_head(item.instance, lock=True).number
            refusal = _retry_incidents(item, RetryRequest(actor=batch.actor, at=at, note=note))
            after = get_head(item.instance).number
            if is_dry_run:
                transaction.set_rollback(True)
    except ApplicationError as error:
        return Outcome(item.pk, Status.REFUSED, reason=explain_refusal(error))
    if refusal:
        return Outcome(item.pk, Status.REFUSED, reason=refusal)
    return Outcome(item.pk, Status.POSSIBLE if is_dry_run else Status.CHANGED, before=before, after=after)


def _retry_incidents(item: BatchItem, retry: RetryRequest) -> str:
    """Retry what is open of a locked instance; return why nothing of it succeeded, or an empty text."""
    rows = WorkflowIncident.objects.filter(instance=item.instance, status=WorkflowIncident.Status.OPEN)
    keys = list(rows.order_by("pk").values_list("pk", flat=True)[:MOST_RETRIED])
    if not keys:
        raise NotPossible(reason="There is no open incident.")
    refusal = ""
    for key in keys:
        try:
            # A savepoint: what a refused one has begun is taken back alone.
            with transaction.atomic():
                retry_incident(
                    item.instance, RetryRequest(actor=retry.actor, at=retry.at, note=retry.note, incident_id=key)
                )
        except NotPossible as error:
            refusal = explain_refusal(error)
    still_open = rows.filter(pk__in=keys).order_by("pk")
    reasons = list(still_open.values_list("reason", flat=True))
    return (refusal or reasons[0]) if len(reasons) == len(keys) else ""


def _return(batch: WorkflowBatch, item: BatchItem, at: datetime) -> Outcome:
    before, after = item.before, item.after
    if before is None or after is None or before == after:
        return Outcome(item.pk, Status.KEPT, before=before, after=after, reason=UNVERSIONED)
    try:
        with transaction.atomic():
            return_if_unchanged(
                item.instance,
                version=before,
                expected_version=after,
                reason=batch.reason or UNDONE,
                actor=batch.undone_by,
                at=at,
            )
    except ApplicationError as error:
        return Outcome(item.pk, Status.KEPT, before=before, after=after, reason=explain_refusal(error))
    return Outcome(item.pk, Status.UNDONE, before=before, after=after)
