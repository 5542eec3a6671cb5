"""Jobs: tasks whose handler is a Python function, registered by name and run under a lease."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID

import structlog
from django.utils import timezone

from config.common.correlation import correlated
from config.common.database.leases import LeaseLost, claim
from config.common.plugins import find_declared
from processes.workflows.errors import Abandoned, InstanceNotFound, NotPossible
from processes.workflows.heads import find_head
from processes.workflows.models import WorkItem
from processes.workflows.services.commands import execute_command
from processes.workflows.services.steps import CommandRequest
from processes.workflows.services.work_items import fail_work_item, find_next_try, get_task_inputs
from processes.workflows.state_storage import section

LEASE = timedelta(minutes=5)
TRIES = 3
FIRST_DELAY = timedelta(seconds=10)

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Job:
    """A task as its handler sees it."""

    id: str
    """The same when the job is repeated: a handler can use it as an idempotency key."""
    instance: UUID
    element: str
    inputs: dict[str, Any]


class BpmnError(Exception):
    """Raised by a handler to throw a BPMN error with this code at its task."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code = code


Handler = Callable[[Job], Mapping[str, Any] | None]

_handlers: dict[str, Handler] = {}


def register_handler(name: str, function: Handler) -> None:
    """Register a function as a handler that service and send tasks can name; what it returns becomes variables.

    It may be run again when its process dies: what it does must be safe to do twice.
    """
    _handlers[name] = function


def register_handlers_of_plugins() -> None:
    for _, handlers in find_declared("WORKFLOW_HANDLERS"):
        for name, handler in handlers.items():
            register_handler(name, handler)


def registered_handlers() -> list[str]:
    return sorted(_handlers)


def run_due_jobs() -> bool:
    """Run the handler of one due job; return whether there was one."""
    # One at a time: a handler may be slow, and no other job should wait behind it under a running lease.
    claimed = claim(WorkItem.objects.filter(kind=WorkItem.Kind.JOB), limit=1, lease=LEASE)
    for item in claimed:
        with correlated(item.correlation_id):
            _run(item)
    return bool(claimed)


def _run(item: WorkItem) -> None:
    try:
        command = _run_handler(item)
    except Exception as error:  # noqa: BLE001  whatever a handler raises is its failure, and stops no other job
        _fail(item, error)
        return
    try:
        execute_command(item.instance_id, CommandRequest(command, actor=f"handler:{item.topic}", at=timezone.now()))
    except NotPossible as refusal:
        if _is_active_task(item):
            _fail(item, ValueError(refusal.data.get("reason")))
    except (Abandoned, InstanceNotFound) as late:
        log.info("workflows.job_overtaken", task=item.public_id, reason=str(late))


def _run_handler(item: WorkItem) -> dict[str, Any]:
    """Run the handler of a job; return the command that completes or fails its task."""
    handler = _handlers.get(item.topic)
    if handler is None:
        raise LookupError(f"No handler is registered as {item.topic}.")
    job = Job(item.public_id, item.instance_id, item.element, dict(get_task_inputs([item])[item.pk]))
    try:
        variables = dict(handler(job) or {})
    except BpmnError as error:
        return {"command": "fail_job", "task": item.local, "error": str(error), "code": error.code}
    return {"command": "complete_job", "task": item.local, "variables": variables}


def _is_active_task(item: WorkItem) -> bool:
    """Tell whether the task still waits in a running instance, so that the refusal was of the handler's result."""
    head = find_head(item.instance_id)
    if head is None or head.state_status != "active":
        return False
    return item.local in section(head.state or {}, "tasks")


def _fail(item: WorkItem, error: Exception) -> None:
    log.warning("workflows.job_failed", task=item.public_id, error=repr(error))
    left, delay = find_next_try(item) or _find_usual_try(item)
    try:
        fail_work_item(item, error=f"{type(error).__name__}: {error}", retries=left, delay=delay, at=timezone.now())
    except LeaseLost:
        log.info("workflows.job_overtaken", task=item.public_id)


def _find_usual_try(item: WorkItem) -> tuple[int, timedelta]:
    """Return how many attempts are left after one more failure, and the pause, where the file says nothing of it."""
    left = (TRIES if item.retries is None else item.retries) - 1
    delay = FIRST_DELAY * 3 ** (TRIES - 1 - left) if left < TRIES else FIRST_DELAY
    return max(left, 0), delay
