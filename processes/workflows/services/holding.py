"""What a suspended instance holds back until it is resumed: its work, and the events that came meanwhile."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import F
from django.db.models.functions import Now

from config.common.background.ring import ring
from config.common.correlation import correlation_id
from config.common.database.sql import in_array
from processes.workflows.models import PostponedEvent, WorkItem
from processes.workflows.services.open_work import CLAIMABLE, section
from processes.workflows.services.planning import CommandRequest
from processes.workflows.services.suspension import is_instance_suspended, is_owner_suspended
from processes.workflows.services.work_names import JOBS, POSTPONED


def update_claimable_work(instance_id: UUID, state: Mapping[str, Any]) -> None:
    """Let nobody take the work of a suspended instance; let it be taken again afterwards, but for what stands still."""
    items = WorkItem.objects.filter(instance=instance_id, status=WorkItem.Status.OPEN, kind__in=CLAIMABLE)
    if is_instance_suspended(state):
        items.update(due_at=None, fence=F("fence") + 1)
        return
    still = [local for local, task in section(state, "tasks").items() if is_owner_suspended(state, task["token"])]
    items.exclude(local__in=in_array(still)).update(due_at=Now(), fence=F("fence") + 1)
    release_postponed_events(instance_id)


def release_postponed_events(instance_id: UUID) -> None:
    """Let the events be taken that came meanwhile."""
    PostponedEvent.objects.filter(instance=instance_id).update(due_at=Now(), fence=F("fence") + 1)
    ring(JOBS)
    ring(POSTPONED)


def postpone_event(instance_id: UUID, order: CommandRequest) -> None:
    """Keep an event for an instance that is suspended; the same one again is kept already."""
    kept = PostponedEvent(
        instance_id=instance_id,
        taken_key=order.taken_key or "",
        command=dict(order.command),
        cause=order.cause[:200],
        position=order.position,
        correlation_id=correlation_id(),
    )
    PostponedEvent.objects.bulk_create([kept], ignore_conflicts=True)
