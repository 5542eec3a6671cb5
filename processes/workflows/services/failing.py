"""Work that a worker could not do: it is offered again while tries are left, then it is an incident."""

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models.functions import Now

from config.common.database.leases import finish
from config.common.text import clean_text
from processes.workflows.models import WorkflowInstance, WorkItem
from processes.workflows.services.incidents import record_incident

RETRY_TASK = "retry_task"
"""What the incident of such work holds in the place of a command."""


def fail_work_item(item: WorkItem, *, error: str, retries: int, delay: timedelta, at: datetime) -> None:
    """Record a failure of work that is held; raise `LeaseLost` if it is held by somebody else by now."""
    text = clean_text(error, 2000)
    if retries > 0:
        finish(item, retries=retries, due_at=Now() + delay, worker="", last_error=text)
        return
    with transaction.atomic():
        instance = WorkflowInstance.objects.select_for_update(no_key=True).get(pk=item.instance_id)
        finish(item, retries=0, due_at=None, worker="", last_error=text)
        command = {"command": RETRY_TASK, "task": item.local}
        record_incident(instance, f"task:{item.local}", command, element=item.element, reason=text, at=at)
