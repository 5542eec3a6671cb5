"""What is given to those who do the work of a task: its own inputs, or the variables as they are now."""

from collections.abc import Sequence
from typing import Any

import msgspec

from processes.workflows.engine.showing import visible_variables
from processes.workflows.models import WorkflowInstance, WorkItem
from processes.workflows.selectors import heads_of
from processes.workflows.services.heads import Head


def inputs_of(items: Sequence[WorkItem]) -> dict[int, dict[str, Any]]:
    """Return what each is given, by the row's id. Instances are read together, and only for tasks without inputs."""
    bare = {item.instance_id for item in items if not item.inputs}
    heads = {head.id: head for head in heads_of(list(WorkflowInstance.objects.filter(pk__in=bare)))} if bare else {}
    return {item.pk: _inputs(item, heads.get(item.instance_id)) for item in items}


def _inputs(item: WorkItem, head: Head | None) -> dict[str, Any]:
    if item.inputs:
        own: dict[str, Any] = msgspec.json.decode(item.inputs)
        return own
    state = head.state if head is not None else None
    task = (state or {}).get("tasks", {}).get(item.local)
    return dict(visible_variables(state, task["scope"])) if state is not None and task is not None else {}
