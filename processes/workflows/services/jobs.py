"""Handlers in Python: registered by name in an app's `ready`, run under a lease, their result completes the task."""

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
from processes.workflows.services.execution import execute_command
from processes.workflows.services.failing import fail_work_item
from processes.workflows.services.given import get_task_inputs
from processes.workflows.services.open_work import section
from processes.workflows.services.planning import CommandRequest

LEASE = timedelta(minutes=5)
TRIES = 3
FIRST_DELAY = timedelta(seconds=10)

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Job:
    """A task as its handler sees it."""

    id: str
    """Constant over repeats: whoever takes effects from a handler may recognise them by it."""
    instance: UUID
    element: str
    inputs: dict[str, Any]


class BpmnError(Exception):
    """Raised by a handler to raise an error of the process at its task, by its code."""

    def __init__(self, code: str, message: str = "") -> None:
        super().__init__(message or code)
        self.code = code


Handler = Callable[[Job], Mapping[str, Any] | None]

_handlers: dict[str, Handler] = {}


def register_handler(name: str, function: Handler) -> None:
    """Let service and send tasks name this function as their handler; what it returns becomes variables.

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
    """Run the handler of a task that waits for it; return whether there was one.

    One at a time: a handler may take its time, and nothing else must wait for it under a lease.
    """
    claimed = claim(WorkItem.objects.filter(kind=WorkItem.Kind.JOB), limit=1, lease=LEASE)
    for item in claimed:
        with correlated(item.correlation_id):
            _run(item)
    return bool(claimed)


def _run(item: WorkItem) -> None:
    try:
        command = _ask(item)
    except Exception as error:  # noqa: BLE001  whatever a handler raises is its failure, and stops no other job
        _fail(item, error)
        return
    try:
        execute_command(item.instance_id, CommandRequest(command, actor=f"handler:{item.topic}", at=timezone.now()))
    except NotPossible as refusal:
        if _is_waited_for(item):
            _fail(item, ValueError(refusal.data.get("reason")))
    except (Abandoned, InstanceNotFound) as late:
        log.info("workflows.job_overtaken", task=item.public_id, reason=str(late))


def _ask(item: WorkItem) -> dict[str, Any]:
    """Run the handler; return the command that follows."""
    handler = _handlers.get(item.topic)
    if handler is None:
        raise LookupError(f"No handler is registered as {item.topic}.")
    job = Job(item.public_id, item.instance_id, item.element, dict(get_task_inputs([item])[item.pk]))
    try:
        variables = dict(handler(job) or {})
    except BpmnError as error:
        return {"command": "fail_job", "task": item.local, "error": str(error), "code": error.code}
    return {"command": "complete_job", "task": item.local, "variables": variables}


def _is_waited_for(item: WorkItem) -> bool:
    """Tell whether the result itself was refused: the task is still there, and its instance runs."""
    head = find_head(item.instance_id)
    return head is not None and head.state_status == "active" and item.local in section(head.state or {}, "tasks")


def _fail(item: WorkItem, error: Exception) -> None:
    log.warning("workflows.job_failed", task=item.public_id, error=repr(error))
    left = (TRIES if item.retries is None else item.retries) - 1
    delay = FIRST_DELAY * 3 ** (TRIES - 1 - left) if left < TRIES else FIRST_DELAY
    try:
        fail_work_item(
            item, error=f"{type(error).__name__}: {error}", retries=max(left, 0), delay=delay, at=timezone.now()
        )
    except LeaseLost:
        log.info("workflows.job_overtaken", task=item.public_id)
