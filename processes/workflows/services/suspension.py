"""Suspension: which parts of a state may not go on, and what becomes of the work and events of a suspended instance."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import F
from django.db.models.functions import Now

from config.common.background.ring import ring
from config.common.database.sql import in_array
from processes.workflows.engine.suspension import SUSPENDED, is_suspended
from processes.workflows.models import PostponedEvent, WorkItem
from processes.workflows.services.work_names import JOBS, POSTPONED
from processes.workflows.state_storage import section


def is_instance_suspended(state: Mapping[str, Any]) -> bool:
    """Tell whether the whole instance is suspended."""
    return state.get("status") == SUSPENDED


def is_owner_suspended(state: Mapping[str, Any], owner: str | None) -> bool:
    """Tell whether a token or a plan item may not go on: the instance, or an item around it, is suspended."""
    if is_instance_suspended(state):
        return True
    return is_suspended(state.get("items", {}), state.get("tokens", {}), state.get("scopes", {}), owner)


def find_suspended_items(state: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(key for key, item in (state.get("items") or {}).items() if item["state"] == SUSPENDED)


def update_claimable_work(instance_id: UUID, state: Mapping[str, Any]) -> None:
    """Withhold the work of an instance that was suspended; let it be claimed again after a resume."""
    items = WorkItem.objects.filter(instance=instance_id, status=WorkItem.Status.OPEN, kind__in=WorkItem.CLAIMABLE)
    # The fence overtakes whoever holds a lease on the work at this moment.
    if is_instance_suspended(state):
        items.update(due_at=None, fence=F("fence") + 1)
        return
    # Items of a case may have been suspended by themselves: those stay so when the instance is resumed.
    suspended = [local for local, task in section(state, "tasks").items() if is_owner_suspended(state, task["token"])]
    items.exclude(local__in=in_array(suspended)).update(due_at=Now(), fence=F("fence") + 1)
    release_postponed_events(instance_id)


def has_suspended_part(state: Mapping[str, Any]) -> bool:
    """Tell whether the instance or a plan item of it is suspended, so that events may have been postponed."""
    return is_instance_suspended(state) or bool(find_suspended_items(state))


def release_postponed_events(*instance_ids: UUID) -> None:
    """Make the events due that came while the instances, or items of them, were suspended."""
    if not instance_ids:
        return
    PostponedEvent.objects.filter(instance__in=instance_ids).update(due_at=Now(), fence=F("fence") + 1)
    ring(JOBS)
    ring(POSTPONED)
