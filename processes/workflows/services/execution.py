"""The one path of every command: read the head, run the engine, write the next version if the head has not moved.

The first attempt takes no lock; one that was overtaken is repeated under the lock of the instance, so it comes through.
The compare-and-set of the head and the unique number of a version keep the chain without a fork, lock or no lock.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from processes.workflows import errors
from processes.workflows.engine import runner
from processes.workflows.engine.execution.errors import CommandFailed, CommandRejected
from processes.workflows.engine.runner import CommandOutcome, InstanceState
from processes.workflows.heads import Head, cache_head, get_head, take_cached_head
from processes.workflows.ids import matches_opened_at, parse_epoch
from processes.workflows.services.incidents import close_overtaken_incidents, derive_about, open_incident
from processes.workflows.services.library import UnknownDefinition, library_for
from processes.workflows.services.steps import CommandRequest, Step, plan_step
from processes.workflows.services.suspension import (
    find_suspended_items,
    is_instance_suspended,
    release_postponed_events,
    update_claimable_work,
)
from processes.workflows.services.write_step import write_step
from processes.workflows.state_storage import section

ATTEMPTS = 10


def execute_command(instance_id: UUID, request: CommandRequest) -> Head:
    """Run a command and return the instance after it; one that fails leaves an incident instead of a version."""
    head = _try_cached_head(instance_id, request)
    if head is not None:
        return head
    for attempt in range(ATTEMPTS):
        is_locked = attempt > 0
        with transaction.atomic() if is_locked else nullcontext():
            head = _attempt(get_head(instance_id, lock=is_locked), request)
        if head is not None:
            cache_head(head)
            return head
    # Not reached, as nobody overtakes an attempt under the lock; the bound keeps a fault from looping for ever.
    raise errors.VersionConflict


def _try_cached_head(instance_id: UUID, request: CommandRequest) -> Head | None:
    """Run a command on the head that this process has just written; return None where it must be read instead."""
    cached = take_cached_head(instance_id)
    if cached is None or request.expected_version not in (None, cached.number) or _names_earlier_task(cached, request):
        return None
    try:
        head = _run_and_write(cached, request)
    except (CommandRejected, CommandFailed):
        # The cached head may be out of date: nobody is refused by it.
        return None
    if head is not None:
        cache_head(head)
    return head


def _attempt(head: Head, request: CommandRequest) -> Head | None:
    """Run a command on a head that was read; return None if another command was faster."""
    if request.expected_version not in (None, head.number):
        raise errors.VersionConflict(version=head.number)
    if any(parse_epoch(str(request.command.get(name, ""))) in range(head.epoch) for name in ("task", "item")):
        raise errors.Abandoned
    if _names_earlier_task(head, request):
        raise errors.Abandoned
    try:
        return _run_and_write(head, request)
    except CommandRejected as refusal:
        raise errors.NotPossible(reason=refusal.reason) from refusal
    except CommandFailed as failure:
        return open_incident(head, request, element=failure.element, reason=failure.reason)


def _names_earlier_task(head: Head, request: CommandRequest) -> bool:
    """Tell whether the caller means a task that had the same number before the database was restored."""
    task = section(head.state or {}, "tasks").get(str(request.command.get("task"))) if request.task_id else None
    return task is not None and not matches_opened_at(request.task_id, datetime.fromisoformat(task["since"]))


def _run_and_write(head: Head, request: CommandRequest) -> Head | None:
    outcome = run_engine(head, request)
    step = plan_step(head, request, outcome.state, outcome.effects)
    status = _write(head, request, step, outcome.state)
    return None if status is None else head_after(head, step, outcome.state, status)


def run_engine(head: Head, request: CommandRequest) -> CommandOutcome:
    """Let the engine run a command, after the variables that the request sets first."""
    library, state = library_for(head.enterprise), head.state
    command: dict[str, Any] = dict(request.command)
    try:
        if state is None:
            return _run_first_command(head, command, request)
        effects: tuple[Any, ...] = ()
        if request.variables:
            assign = {"command": "set_variables", "variables": dict(request.variables)}
            assigned = runner.run_command(library, state, assign, request.at)
            state, effects = assigned.state, assigned.effects
        outcome = runner.run_command(library, state, command, request.at)
        return CommandOutcome(outcome.state, (*effects, *outcome.effects)) if effects else outcome
    except UnknownDefinition as error:
        raise CommandFailed("", f"There is no definition {error} to be called.") from error


def _run_first_command(head: Head, command: dict[str, Any], request: CommandRequest) -> CommandOutcome:
    """Start an instance, or terminate one whose start has failed: it has no state yet."""
    if command["command"] == "start":
        command["variables"] = {**command["variables"], **request.variables}
        return runner.run_command(library_for(head.enterprise), None, command, request.at)
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


def _write(head: Head, request: CommandRequest, step: Step, state: Mapping[str, Any]) -> str | None:
    before = head.state or {}
    is_toggled = is_instance_suspended(before) != is_instance_suspended(state)
    items_resumed = not is_toggled and bool(find_suspended_items(before) - find_suspended_items(state))
    if not head.open_incidents and not is_toggled and not items_resumed:
        # One statement by itself: the usual command pays for no BEGIN and COMMIT of its own.
        return write_step(step)
    with transaction.atomic():
        status = write_step(step)
        if status is not None and is_toggled:
            update_claimable_work(head.id, state)
        if status is not None and items_resumed:
            release_postponed_events(head.id)
        if status is not None and head.open_incidents:
            status = close_overtaken_incidents(head, step, about=derive_about(request))
        return status


def head_after(head: Head, step: Step, state: InstanceState, status: str) -> Head:
    """Return the head that a written step has led to, without reading it."""
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
