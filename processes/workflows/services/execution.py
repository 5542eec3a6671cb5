"""The one path of every command: read the head, run the engine, write the next version if the head is still there.

The first attempt takes no lock; one that was overtaken repeats under the lock of the instance, so it comes through. The
compare-and-set of the head and the unique number of a version keep the chain without a fork, whoever forgets the lock.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from processes.workflows import errors
from processes.workflows.engine.execution.errors import CommandFailed, CommandRejected
from processes.workflows.engine.runner import CommandOutcome, InstanceState
from processes.workflows.engine.runner import run_command as run
from processes.workflows.heads import Head, get_head
from processes.workflows.ids import matches_opened_at, parse_epoch
from processes.workflows.services.holding import release_postponed_events, update_claimable_work
from processes.workflows.services.incidents import close_overtaken_incidents, derive_about, open_incident
from processes.workflows.services.library import UnknownDefinition, library_for
from processes.workflows.services.open_work import section
from processes.workflows.services.planning import CommandRequest, plan_step
from processes.workflows.services.recent import cache_head, take_cached_head
from processes.workflows.services.steps import Step
from processes.workflows.services.suspension import find_suspended_items, is_instance_suspended
from processes.workflows.services.write_step import write_step

ATTEMPTS = 10


def execute_command(instance_id: UUID, order: CommandRequest) -> Head:
    """Carry out a command and return the instance after it; where it could not go through, with an incident."""
    head = _follow_up(instance_id, order)
    if head is not None:
        return head
    for attempt in range(ATTEMPTS):
        is_locked = attempt > 0
        with transaction.atomic() if is_locked else nullcontext():
            head = _attempt(get_head(instance_id, lock=is_locked), order)
        if head is not None:
            cache_head(head)
            return head
    raise errors.VersionConflict


def _follow_up(instance_id: UUID, order: CommandRequest) -> Head | None:
    """Carry out a command on the head that this process has just written; None where that is not possible.

    Nobody is refused by it: what it says may have changed since.
    """
    recent = take_cached_head(instance_id)
    if recent is None or order.expected_version not in (None, recent.number) or _names_earlier_task(recent, order):
        return None
    try:
        head = _run_and_write(recent, order)
    except (CommandRejected, CommandFailed):
        return None
    if head is not None:
        cache_head(head)
    return head


def _attempt(head: Head, order: CommandRequest) -> Head | None:
    """Return the instance after the command, or None if somebody was faster."""
    if order.expected_version not in (None, head.number):
        raise errors.VersionConflict(version=head.number)
    if any(parse_epoch(str(order.command.get(name, ""))) in range(head.epoch) for name in ("task", "item")):
        raise errors.Abandoned
    if _names_earlier_task(head, order):
        raise errors.Abandoned
    try:
        return _run_and_write(head, order)
    except CommandRejected as refusal:
        raise errors.NotPossible(reason=refusal.reason) from refusal
    except CommandFailed as failure:
        return open_incident(head, order, element=failure.element, reason=failure.reason)


def _names_earlier_task(head: Head, order: CommandRequest) -> bool:
    """Tell whether the caller means a task that had the same number before the database was restored."""
    task = section(head.state or {}, "tasks").get(str(order.command.get("task"))) if order.task_id else None
    return task is not None and not matches_opened_at(order.task_id, datetime.fromisoformat(task["since"]))


def _run_and_write(head: Head, order: CommandRequest) -> Head | None:
    outcome = run_command(head, order)
    step = plan_step(head, order, outcome.state, outcome.effects)
    status = _write(head, order, step, outcome.state)
    return None if status is None else head_after(head, step, outcome.state, status)


def run_command(head: Head, order: CommandRequest) -> CommandOutcome:
    """Let the engine run a command, after the variables that are to be set first."""
    library, state = library_for(head.enterprise), head.state
    command: dict[str, Any] = dict(order.command)
    try:
        if state is None:
            return _begin(head, command, order)
        effects: tuple[Any, ...] = ()
        if order.variables:
            first = run(library, state, {"command": "set_variables", "variables": dict(order.variables)}, order.at)
            state, effects = first.state, first.effects
        outcome = run(library, state, command, order.at)
        return CommandOutcome(outcome.state, (*effects, *outcome.effects)) if effects else outcome
    except UnknownDefinition as error:
        raise CommandFailed("", f"There is no definition {error} to be called.") from error


def _begin(head: Head, command: dict[str, Any], order: CommandRequest) -> CommandOutcome:
    """Start, or end, an instance whose start has failed."""
    if command["command"] == "start":
        command["variables"] = {**command["variables"], **order.variables}
        return run(library_for(head.enterprise), None, command, order.at)
    if command["command"] == "terminate":
        kind = library_for(head.enterprise)(head.definition, head.revision)[0].kind
        state: InstanceState = {
            "kind": kind,
            "epoch": head.epoch,
            "next": 1,
            "status": "terminated",
            "record": head.record,
        }
        return CommandOutcome(state, ())
    raise CommandRejected("The instance has not started: retry its incident, or terminate it.")


def _write(head: Head, order: CommandRequest, step: Step, state: Mapping[str, Any]) -> str | None:
    before = head.state or {}
    is_turned = is_instance_suspended(before) != is_instance_suspended(state)
    goes_on = not is_turned and bool(find_suspended_items(before) - find_suspended_items(state))
    if not head.open_incidents and not is_turned and not goes_on:
        return write_step(step)
    with transaction.atomic():
        status = write_step(step)
        if status is not None and is_turned:
            update_claimable_work(head.id, state)
        if status is not None and goes_on:
            release_postponed_events(head.id)
        if status is not None and head.open_incidents:
            status = close_overtaken_incidents(head, step, about=derive_about(order))
        return status


def head_after(head: Head, step: Step, state: InstanceState, status: str) -> Head:
    """Return the instance as it is after a step."""
    return Head(
        id=head.id,
        definition=head.definition,
        revision_id=step.revision_id,
        revision=head.revision,
        record=head.record,
        status=status,
        number=step.number,
        epoch=step.epoch,
        open_incidents=head.open_incidents,
        started_at=head.started_at,
        ended_at=step.ended_at,
        enterprise=head.enterprise,
        at=step.at,
        state_status=step.status,
        state=state,
        digests=frozenset(step.digests.split()) if step.digests else frozenset(),
    )
