"""Work items that workers claim: their inputs and failures, and external tasks, locked by topic over REST."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models.functions import Now

from config.common.database.leases import LeaseLost, claim, finish, renew
from config.common.database.sql import as_utc
from config.common.text import clean_text
from config.common.web.pagination import PAGE_BYTES
from processes.workflows.engine.state_queries import get_visible_variables
from processes.workflows.errors import Abandoned, NotLocked, NotPossible, TaskNotFound
from processes.workflows.heads import Head, find_head
from processes.workflows.ids import find_instance_id, local_id, matches_opened_at, parse_epoch
from processes.workflows.models import WorkflowInstance, WorkItem
from processes.workflows.selectors import load_heads
from processes.workflows.services.commands import execute_command
from processes.workflows.services.incidents import RETRY_TASK, record_incident
from processes.workflows.services.steps import CommandRequest
from processes.workflows.state_storage import section

FETCH_STEP = 10
"""How many tasks are locked and read at a time: their inputs may be large."""


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
    """Lock up to `limit` tasks of a topic for a worker and return them with their inputs.

    Where the inputs take more than `most_bytes` in all there are fewer, but at least one; the worker may ask again.
    """
    due = WorkItem.objects.filter(kind=WorkItem.Kind.EXTERNAL, topic=topic)
    found: list[FetchedTask] = []
    used = 0
    while len(found) < limit:
        step = min(FETCH_STEP, limit - len(found))
        items = claim(due, limit=step, lease=lock, also={"worker": worker})
        for place, fetched in enumerate(_load_tasks(items)):
            used += len(msgspec.json.encode(fetched.inputs))
            if found and used > most_bytes:
                _unlock(items[place:])
                return found
            found.append(fetched)
        if len(items) < step:
            break
    return found


def _load_tasks(items: Sequence[WorkItem]) -> Iterator[FetchedTask]:
    instances = WorkflowInstance.objects.in_bulk({item.instance_id for item in items})
    inputs = get_task_inputs(items)
    for item in items:
        instance = instances[item.instance_id]
        yield FetchedTask(item, instance.definition_id, instance.record, inputs[item.pk])


def _unlock(items: Sequence[WorkItem]) -> None:
    """Release tasks that were locked but do not fit the answer, at their old places in the queue."""
    for item in items:
        try:
            finish(item, due_at=as_utc(getattr(item, "was_due_at")), worker="")  # noqa: B009
        except LeaseLost:
            continue  # closed, suspended or claimed meanwhile


def complete_external_task(*, task: str, worker: str, variables: dict[str, Any], actor: str, at: datetime) -> Head:
    """Complete a task that this worker has locked; return its instance."""
    item = _get_locked_task(task, worker)
    command = {"command": "complete_job", "task": item.local, "variables": variables}
    return execute_command(item.instance_id, CommandRequest(command, actor=actor, at=at))


def raise_external_error(
    *, task: str, worker: str, code: str, message: str, variables: dict[str, Any], actor: str, at: datetime
) -> Head:
    """Raise a BPMN error at a task that this worker has locked; one that nothing catches becomes an incident."""
    item = _get_locked_task(task, worker)
    command = {"command": "fail_job", "task": item.local, "code": code, "error": message, "variables": variables}
    return execute_command(item.instance_id, CommandRequest(command, actor=actor, at=at))


def extend_lock(*, task: str, worker: str, lock: timedelta) -> WorkItem:
    """Let a worker keep a task for so long from now on; return the task with its new deadline."""
    item = _get_locked_task(task, worker)
    if item.due_at is None:  # suspended, or an incident waits for a person: a deadline would offer it to workers again
        raise NotPossible(reason="The task is withheld: its instance is suspended, or has an incident about it.")
    try:
        renew(item, lease=lock)
    except LeaseLost as late:
        raise NotLocked from late
    item.refresh_from_db(fields=["due_at"])
    return item


def fail_external_task(
    *, task: str, worker: str, error: str, retries: int | None, delay: timedelta | None, at: datetime
) -> None:
    """Record that a worker could not do a task: it is offered again after the delay, or becomes an incident.

    What the worker leaves out the file says; where it does not either, the task is not offered again.
    """
    item = _get_locked_task(task, worker)
    left, pause = find_next_try(item) or (0, timedelta())
    try:
        fail_work_item(
            item,
            error=error,
            retries=left if retries is None else retries,
            delay=pause if delay is None else delay,
            at=at,
        )
    except LeaseLost as late:
        raise NotLocked from late


def _get_locked_task(task: str, worker: str) -> WorkItem:
    """Return a task that this worker has locked; a lock that has run out counts until another worker takes the task."""
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


def get_task_inputs(items: Sequence[WorkItem]) -> dict[int, dict[str, Any]]:
    """Return the declared inputs of each item, or all variables visible at its task, by the item's primary key."""
    found: dict[int, dict[str, Any]] = {item.pk: msgspec.json.decode(item.inputs) for item in items if item.inputs}
    undeclared: dict[UUID, list[WorkItem]] = {}
    for item in items:
        if not item.inputs:
            found[item.pk] = {}
            undeclared.setdefault(item.instance_id, []).append(item)
    # One state at a time: each may be large, and only its variables are kept.
    for head in load_heads(list(WorkflowInstance.objects.filter(pk__in=undeclared))) if undeclared else ():
        for item in undeclared[head.id]:
            task = section(head.state or {}, "tasks").get(item.local)
            if head.state is not None and task is not None:
                found[item.pk] = get_visible_variables(head.state, task["scope"])
    return found


def find_next_try(item: WorkItem) -> tuple[int, timedelta] | None:
    """Return how many attempts the file leaves after one more failure, and the pause; None: it does not say."""
    head = find_head(item.instance_id)
    task = section(head.state or {}, "tasks").get(item.local) if head is not None else None
    plan = task.get("retry") if task is not None else None
    if plan is None:
        return None
    left = (plan["tries"] if item.retries is None else item.retries) - 1
    failed = max(plan["tries"] - left, 1)  # a person may have given it more attempts than the file has
    pauses = plan["pauses"] or [0.0]
    return max(left, 0), timedelta(seconds=pauses[min(failed, len(pauses)) - 1])


def fail_work_item(item: WorkItem, *, error: str, retries: int, delay: timedelta, at: datetime) -> None:
    """Record a failure of claimed work: offer it again while retries are left, else open an incident.

    Raise `LeaseLost` if somebody else has claimed it by now.
    """
    text = clean_text(error, 2000)
    if retries > 0:
        finish(item, retries=retries, due_at=Now() + delay, worker="", last_error=text)
        return
    with transaction.atomic():
        # The instance first: whoever writes a step locks it before the rows of its work.
        instance = WorkflowInstance.objects.select_for_update(no_key=True).get(pk=item.instance_id)
        finish(item, retries=0, due_at=None, worker="", last_error=text)
        command = {"command": RETRY_TASK, "task": item.local}
        record_incident(instance, f"task:{item.local}", command, element=item.element, reason=text, at=at)
