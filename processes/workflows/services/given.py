"""What is given to those who do the work of a task: its own inputs, or the variables as they are now."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import msgspec

from processes.workflows.engine.state_queries import get_visible_variables
from processes.workflows.heads import Head
from processes.workflows.models import WorkflowInstance, WorkItem
from processes.workflows.selectors import load_heads


def get_task_inputs(items: Sequence[WorkItem]) -> dict[int, dict[str, Any]]:
    """Return what each is given, by the row's id. Instances are read together, and only for tasks without inputs."""
    found: dict[int, dict[str, Any]] = {item.pk: msgspec.json.decode(item.inputs) for item in items if item.inputs}
    bare: dict[UUID, list[WorkItem]] = {}
    for item in items:
        if not item.inputs:
            found[item.pk] = {}
            bare.setdefault(item.instance_id, []).append(item)
    # One after the other: a state may be large, and of each only the variables are kept.
    for head in load_heads(list(WorkflowInstance.objects.filter(pk__in=bare))) if bare else ():
        found |= {item.pk: _visible(item, head) for item in bare[head.id]}
    return found


def _visible(item: WorkItem, head: Head) -> dict[str, Any]:
    state = head.state
    task = (state or {}).get("tasks", {}).get(item.local)
    return get_visible_variables(state, task["scope"]) if state is not None and task is not None else {}
