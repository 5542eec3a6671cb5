"""External tasks: workers outside take them by topic, under a lock with an end, and say what became of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec

from config.common.database.leases import LeaseLost, claim, finish
from config.common.database.sql import as_utc
from config.common.web.pagination import PAGE_BYTES
from processes.workflows.errors import Abandoned, NotLocked, NotPossible, TaskNotFound
from processes.workflows.heads import Head
from processes.workflows.ids import find_instance_id, local_id, matches_opened_at, parse_epoch
from processes.workflows.models import WorkflowInstance, WorkItem
from processes.workflows.services.execution import execute_command
from processes.workflows.services.failing import fail_work_item
from processes.workflows.services.given import get_task_inputs
from processes.workflows.services.planning import CommandRequest

STEP = 10
"""How many tasks are locked and read at a time: what they are given may be large."""


@dataclass(frozen=True)
class FetchedTask:
    """An external task as its worker sees it."""

    item: WorkItem
    definition: str
    record: str
    inputs: dict[str, Any]


def fetch_external_tasks(
    *, topic: str, worker: str, limit: int, lock: timedelta, most_bytes: int = PAGE_BYTES
) -> list[FetchedTask]:
    """Lock up to `limit` tasks of a topic for a worker; nobody else is given them until the lock ends.

    There are fewer where they are given more than `most_bytes` in all, but at least one: whoever wants more asks again.
    """
    due = WorkItem.objects.filter(kind=WorkItem.Kind.EXTERNAL, topic=topic)
    found: list[FetchedTask] = []
    used = 0
    while len(found) < limit:
        step = min(STEP, limit - len(found))
        items = claim(due, limit=step, lease=lock, also={"worker": worker})
        for place, fetched in enumerate(_with_inputs(items)):
            used += len(msgspec.json.encode(fetched.inputs))
            if found and used > most_bytes:
                _give_back(items[place:])
                return found
            found.append(fetched)
        if len(items) < step:
            break
    return found


def _with_inputs(items: Sequence[WorkItem]) -> Iterator[FetchedTask]:
    instances = WorkflowInstance.objects.in_bulk({item.instance_id for item in items})
    given = get_task_inputs(items)
    for item in items:
        instance = instances[item.instance_id]
        yield FetchedTask(item, instance.definition_id, instance.record, given[item.pk])


def _give_back(items: Sequence[WorkItem]) -> None:
    """Let tasks be taken that were locked in vain, in the order that they had."""
    for item in items:
        try:
            finish(item, due_at=as_utc(getattr(item, "was_due_at")), worker="")  # noqa: B009
        except LeaseLost:
            continue  # somebody else has it, or it is there no more: it is not ours to give back


def complete_external_task(*, task: str, worker: str, variables: dict[str, Any], actor: str, at: datetime) -> Head:
    """Complete a task that this worker holds."""
    item = _held(task, worker)
    command = {"command": "complete_job", "task": item.local, "variables": variables}
    return execute_command(item.instance_id, CommandRequest(command, actor=actor, at=at))


def fail_external_task(*, task: str, worker: str, error: str, retries: int, delay: timedelta, at: datetime) -> None:
    """Give a task back: it is offered again after the delay; with no tries left it is an incident."""
    item = _held(task, worker)
    try:
        fail_work_item(item, error=error, retries=retries, delay=delay, at=at)
    except LeaseLost as late:
        raise NotLocked from late


def _held(task: str, worker: str) -> WorkItem:
    """Find a task that this worker holds. A lock that has ended still counts until somebody else has taken it."""
    instance_id = find_instance_id(task)
    if instance_id is None:
        raise TaskNotFound
    local = local_id(instance_id, task)
    rows = WorkItem.objects.filter(instance=instance_id, local=local, kind=WorkItem.Kind.EXTERNAL)
    item = rows.select_related("instance").first()
    if item is None:
        raise TaskNotFound
    is_earlier = parse_epoch(local) < item.instance.epoch or not matches_opened_at(task, item.since)
    if item.status == WorkItem.Status.ABANDONED or is_earlier:
        raise Abandoned
    if item.status != WorkItem.Status.OPEN:
        raise NotPossible(reason="The task is not open any more.")
    if item.worker != worker:
        raise NotLocked
    return item
