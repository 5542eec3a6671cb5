"""The rows of open work of an instance that has moved to another revision: they keep their ids, not all their words."""

from typing import Any
from uuid import UUID

from processes.workflows.models import WorkflowSubscription, WorkflowTimer, WorkItem
from processes.workflows.services.plan_step import describe_task, find_definition
from processes.workflows.state_storage import section

ROWS_AT_ONCE = 500


def rename_open_work(instance_id: UUID, state: Any, about: str) -> None:
    """Bring the rows to what the state says now, in few statements. `about` is what tasks are found by beside it."""
    tasks, timers, subscriptions = (section(state, part) for part in ("tasks", "timers", "subscriptions"))
    items = list(WorkItem.objects.filter(instance=instance_id, status=WorkItem.Status.OPEN))
    for item in items:
        task = tasks[item.local]
        item.element, item.name = task["element"][:200], (task.get("name") or "")[:200]
        if item.kind in WorkItem.FOR_PEOPLE:
            item.search = describe_task(task, state, about)["search"]
    WorkItem.objects.bulk_update(items, ["element", "name", "search"], batch_size=ROWS_AT_ONCE)
    waiting = list(WorkflowTimer.objects.filter(instance=instance_id))
    for timer in waiting:
        timer.element = timers[timer.local]["element"][:200]
    WorkflowTimer.objects.bulk_update(waiting, ["element"], batch_size=ROWS_AT_ONCE)
    listening = list(WorkflowSubscription.objects.filter(instance=instance_id))
    for each in listening:
        record = subscriptions[each.local]
        each.definition, each.revision = find_definition(state, record["scope"])
        each.element, each.name = record["element"][:200], record["name"][:200]
    fields = ["definition", "revision", "element", "name"]
    WorkflowSubscription.objects.bulk_update(listening, fields, batch_size=ROWS_AT_ONCE)
