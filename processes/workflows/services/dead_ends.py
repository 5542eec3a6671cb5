"""Instances in which nothing can ever move again, from before a command was refused for it: each gets its incident."""

from collections.abc import Iterator
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from processes.workflows.engine.outlook import find_dead_end
from processes.workflows.heads import find_head
from processes.workflows.models import (
    WorkflowDefinition,
    WorkflowInstance,
    WorkflowSubscription,
    WorkflowTimer,
    WorkItem,
)
from processes.workflows.models.instance import Status
from processes.workflows.services.definitions.library import library_for
from processes.workflows.services.incidents import record_incident

STEP = 1_000
"""Instances that one query looks at."""
MOST_READ = 10_000
"""States that are read in one run: of the instances that wait for nothing in the database, few wait for a condition."""
RETRIED = "set_variables"
"""What a retry does, and what the incident is about: a retry that fails the same way is counted in it."""

log = structlog.get_logger(__name__)


def report_dead_ends() -> int:
    """Open an incident for each process that stands still for ever; return how many there were."""
    found = 0
    for count, instance_id in enumerate(_list_waiting_for_nothing()):
        if count >= MOST_READ:
            log.warning("workflows.dead_ends_cut", most=MOST_READ)
            break
        found += _report(instance_id)
    if found:
        log.info("workflows.dead_ends", count=found)
    return found


def _list_waiting_for_nothing() -> Iterator[UUID]:
    """Yield active processes without an open task, a timer or a subscription, in the order of their ids."""
    waits = [
        Exists(WorkItem.objects.filter(instance=OuterRef("pk"), status=WorkItem.Status.OPEN)),
        Exists(WorkflowTimer.objects.filter(instance=OuterRef("pk"))),
        Exists(WorkflowSubscription.objects.filter(instance=OuterRef("pk"))),
    ]
    # By the index of status and id; a step at a time, so that no query runs for long.
    active = WorkflowInstance.objects.filter(status=Status.ACTIVE).order_by("-id")
    last: UUID | None = None
    while chosen := list((active if last is None else active.filter(id__lt=last)).values_list("id", flat=True)[:STEP]):
        last = chosen[-1]
        rows = WorkflowInstance.objects.filter(pk__in=chosen, definition__kind=WorkflowDefinition.Kind.BPMN)
        yield from rows.exclude(waits[0]).exclude(waits[1]).exclude(waits[2]).values_list("pk", flat=True)


def _report(instance_id: UUID) -> bool:
    at = timezone.now()
    with transaction.atomic():
        rows = WorkflowInstance.objects.select_for_update(no_key=True).select_related(None)
        instance = rows.filter(pk=instance_id, status=Status.ACTIVE).first()
        head = find_head(instance_id) if instance is not None else None
        if instance is None or head is None or head.number != instance.head or head.state is None:
            return False  # it has moved meanwhile
        dead_end = find_dead_end(library_for(None), head.state, at)
        if dead_end is None:
            return False
        # A retry looks again: it fails the same way until the instance is returned or moved to another revision.
        command = {"command": RETRIED, "variables": {}}
        record_incident(instance, RETRIED, command, element=dead_end[0], reason=dead_end[1], at=at)
    return True
