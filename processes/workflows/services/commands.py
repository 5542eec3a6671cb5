"""The one path of every command: read the head, run the engine, write the next version if the head has not moved.

What callers give is checked by field first, with public ids; a retry of an incident is a command like any other.

The first attempt takes no lock; one that was overtaken is repeated under the lock of the instance, so it comes through.
The compare-and-set of the head and the unique number of a version keep the chain without a fork, lock or no lock.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec
from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext, gettext_noop

from config.common.background.ring import ring
from config.common.errors import Invalid
from processes.workflows.engine import runner
from processes.workflows.engine.execution.errors import CommandFailed, CommandRejected
from processes.workflows.engine.migration import MigrationRejected
from processes.workflows.engine.runner import CommandOutcome, InstanceState
from processes.workflows.errors import Abandoned, NotPossible, RevisionNotFound, VersionConflict
from processes.workflows.heads import Head, cache_head, get_head, take_cached_head
from processes.workflows.ids import local_id, matches_opened_at, parse_epoch
from processes.workflows.models import WorkflowEffect, WorkflowIncident, WorkflowRevision, WorkItem
from processes.workflows.services.definitions.library import Library, UnknownDefinition, library_for
from processes.workflows.services.incidents import DISPATCH_EFFECT, RETRY_TASK, open_incident, resolve_incidents
from processes.workflows.services.plan_step import plan_step
from processes.workflows.services.steps import CommandRequest, Step
from processes.workflows.services.work_names import EFFECTS, JOBS
from processes.workflows.services.write_step import apply_consequences, find_consequences, write_step
from processes.workflows.state_storage import section

RETRY_INCIDENT = "retry_incident"
MIGRATE = "migrate"
FIELDS: dict[str, tuple[str, ...]] = {
    "complete_task": ("task", "variables"),
    "send_message": ("name", "variables"),
    "set_variables": ("variables",),
    "suspend": (),
    "resume": (),
    "terminate": (),
    RETRY_INCIDENT: ("note", "variables", "incident"),
    MIGRATE: ("revision", "elements"),
    "close": (),
    "reactivate": (),
    "start": ("item",),
    "occur": ("item",),
    "plan": ("item",),
    "disable": ("item",),
    "reenable": ("item",),
    "suspend_item": ("item",),
    "resume_item": ("item",),
    "terminate_item": ("item",),
    "complete_item": ("item",),
    "reactivate_item": ("item",),
}
_TYPES: dict[str, type] = {
    "task": str,
    "name": str,
    "item": str,
    "variables": dict,
    "note": str,
    "incident": int,
    "revision": int,
    "elements": dict,
}
LARGEST_NUMBER = 2**31 - 1
_REQUIRED = {"task", "name", "item", "revision"}
OVERTAKEN = gettext_noop("the instance has continued without it")
ATTEMPTS = 10


def command_instance(
    instance_id: UUID, body: Mapping[str, Any], *, actor: str, at: datetime, expected_version: int | None = None
) -> Head:
    """Check and run a command of a caller; return the instance after it."""
    command = _check(body)
    if command["command"] == RETRY_INCIDENT:
        retry = RetryRequest(
            actor=actor,
            at=at,
            note=command.get("note", ""),
            variables=command.get("variables", {}),
            incident_id=command.get("incident"),
            expected_version=expected_version,
        )
        return retry_incident(instance_id, retry)
    task_id = command.get("task", "")
    for name in ("task", "item"):
        if name in command:
            command[name] = local_id(instance_id, command[name])
    request = CommandRequest(command, actor=actor, at=at, expected_version=expected_version, task_id=task_id)
    if command["command"] == MIGRATE:
        request = replace(request, revision_id=_find_revision(instance_id, command["revision"]))
    return execute_command(instance_id, request)


def _find_revision(instance_id: UUID, number: int) -> int:
    """Return the id of a revision that an instance could move to."""
    definition = get_head(instance_id).definition
    rows = WorkflowRevision.objects.filter(definition=definition, number=number, is_executable=True)
    found = rows.values_list("pk", flat=True).first() if 0 < number <= LARGEST_NUMBER else None
    if found is None:
        raise RevisionNotFound
    return found


def _check(body: Mapping[str, Any]) -> dict[str, Any]:
    name = body.get("command")
    if not isinstance(name, str) or name not in FIELDS:
        raise Invalid({"command": [gettext("Must be one of %(names)s.") % {"names": ", ".join(FIELDS)}]})
    faults: dict[str, list[str]] = {}
    command: dict[str, Any] = {"command": name}
    for key, value in body.items():
        if key == "command":
            continue
        if key not in FIELDS[name]:
            faults[key] = [gettext("This command has no such field.")]
        # JSON's true and false are instances of int in Python, and no field is a boolean.
        elif not isinstance(value, _TYPES[key]) or isinstance(value, bool):
            faults[key] = [gettext("Must be of another type.")]
        else:
            command[key] = value
    for key in _REQUIRED.intersection(FIELDS[name]).difference(body):
        faults[key] = [gettext("This field is required.")]
    if faults:
        raise Invalid(faults)
    return command


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
    raise VersionConflict


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
        raise VersionConflict(version=head.number)
    if any(parse_epoch(str(request.command.get(name, ""))) in range(head.epoch) for name in ("task", "item")):
        raise Abandoned
    if _names_earlier_task(head, request):
        raise Abandoned
    try:
        return _run_and_write(head, request)
    except MigrationRejected as refusal:
        raise NotPossible(reason=refusal.reason, elements=[asdict(each) for each in refusal.unmapped]) from refusal
    except CommandRejected as refusal:
        raise NotPossible(reason=refusal.reason) from refusal
    except CommandFailed as failure:
        return open_incident(head, request, element=failure.element, reason=failure.reason)


def _names_earlier_task(head: Head, request: CommandRequest) -> bool:
    """Tell whether the caller means a task that had the same number before the database was restored."""
    task = section(head.state or {}, "tasks").get(str(request.command.get("task"))) if request.task_id else None
    return task is not None and not matches_opened_at(request.task_id, datetime.fromisoformat(task["since"]))


def _run_and_write(head: Head, request: CommandRequest) -> Head | None:
    outcome = run_engine(head, request)
    step = plan_step(head, request, outcome)
    status = _write(head, request, step, outcome.state)
    if request.revision_id is not None:
        head = replace(head, revision=request.command["revision"])
    return None if status is None else head_after(head, step, outcome.state, status)


def run_engine(head: Head, request: CommandRequest, library: Library | None = None) -> CommandOutcome:
    """Let the engine run a command, after the variables that the request sets first."""
    library, state = library or library_for(head.enterprise), head.state
    command: dict[str, Any] = dict(request.command)
    try:
        if state is None:
            return _run_first_command(library, head, command, request)
        if not request.variables:
            return runner.run_command(library, state, command, request.at)
        assign = {"command": "set_variables", "variables": dict(request.variables)}
        assigned = runner.run_command(library, state, assign, request.at)
        return assigned.followed_by(runner.run_command(library, assigned.state, command, request.at))
    except UnknownDefinition as error:
        raise CommandFailed("", f"There is no definition {error} to be called.") from error


def _run_first_command(
    library: Library, head: Head, command: dict[str, Any], request: CommandRequest
) -> CommandOutcome:
    """Start an instance, or terminate one whose start has failed: it has no state yet."""
    if command["command"] == "start":
        command["variables"] = {**command["variables"], **request.variables}
        return runner.run_command(library, None, command, request.at)
    if command["command"] == "terminate":
        kind = library(head.definition, head.revision)[0].kind
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
    consequences = find_consequences(head, request, step, state)
    if not consequences:
        # One statement by itself: the usual command pays for no BEGIN and COMMIT of its own.
        return write_step(step)
    with transaction.atomic():
        status = write_step(step)
        if status is None:
            return None
        return apply_consequences(consequences, head, request, step, state) or status


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
        shadow=head.shadow,
    )


@dataclass(frozen=True)
class RetryRequest:
    actor: str
    at: datetime
    note: str = ""
    variables: Mapping[str, Any] = field(default_factory=dict)
    incident_id: int | None = None
    """None: the oldest that is open."""
    expected_version: int | None = None


def retry_incident(instance_id: UUID, retry: RetryRequest) -> Head:
    """Repeat what an incident is about; where that is no longer possible, the incident is closed."""
    head = get_head(instance_id)
    if retry.expected_version not in (None, head.number):
        raise VersionConflict(version=head.number)
    incident = _get_incident(instance_id, retry.incident_id)
    if incident.command["command"] == DISPATCH_EFFECT:
        return _dispatch_again(incident, retry)
    if incident.command["command"] == RETRY_TASK:
        return _offer_again(incident, retry)
    return _run_again(incident, retry)


def _get_incident(instance_id: UUID, incident_id: int | None) -> WorkflowIncident:
    rows = WorkflowIncident.objects.filter(instance=instance_id, status=WorkflowIncident.Status.OPEN)
    incident = (rows if incident_id is None else rows.filter(pk=incident_id)).order_by("pk").first()
    if incident is None:
        raise NotPossible(reason="There is no open incident.")
    return incident


def _dispatch_again(incident: WorkflowIncident, retry: RetryRequest) -> Head:
    """Make a refused effect due once more; here the variables replace its inputs."""
    with transaction.atomic():
        head = _close(incident, retry, note=retry.note)
        rows = WorkflowEffect.objects.filter(instance=head.id, local=incident.command["effect"])
        effect = rows.filter(status=WorkflowEffect.Status.REFUSED).first()
        if effect is not None:
            inputs = {**msgspec.json.decode(effect.inputs), **retry.variables}
            rows.update(
                status=WorkflowEffect.Status.WAITING,
                inputs=msgspec.json.encode(inputs).decode(),
                due_at=Now(),
                fence=F("fence") + 1,
            )
        ring(EFFECTS)
    return head


def _offer_again(incident: WorkflowIncident, retry: RetryRequest) -> Head:
    """Give failed work one more try."""
    if retry.variables:
        command = {"command": "set_variables", "variables": dict(retry.variables)}
        request = CommandRequest(command, actor=retry.actor, at=retry.at, expected_version=retry.expected_version)
        execute_command(incident.instance_id, request)
    with transaction.atomic():
        head = _close(incident, retry, note=retry.note)
        # Nobody may claim work of a suspended instance: a resume makes it due.
        due_at = None if head.state_status == "suspended" else Now()
        items = WorkItem.objects.filter(instance=head.id, local=incident.command["task"], status=WorkItem.Status.OPEN)
        items.update(retries=1, due_at=due_at, fence=F("fence") + 1)
        ring(JOBS)
    return head


def _run_again(incident: WorkflowIncident, retry: RetryRequest) -> Head:
    """Run the failed command again, as the first of a new chain."""
    # A person has looked at it: the chain of automatic steps ends here.
    command = {**incident.command, "hops": 0, "generation": 0}
    request = CommandRequest(
        command,
        actor=retry.actor,
        at=retry.at,
        expected_version=retry.expected_version,
        taken_key=command.pop("taken_key", None),
        position=command.pop("position", 0),
        variables=retry.variables,
    )
    try:
        head = execute_command(incident.instance_id, request)
    except NotPossible:
        if get_head(incident.instance_id).state_status == "suspended":
            raise
        return _close(incident, retry, note=retry.note or OVERTAKEN)
    WorkflowIncident.objects.filter(pk=incident.pk).update(note=retry.note)
    return head


def _close(incident: WorkflowIncident, retry: RetryRequest, *, note: str) -> Head:
    with transaction.atomic():
        get_head(incident.instance_id, lock=True)
        resolve_incidents(incident.instance_id, Q(pk=incident.pk), note=note, actor=retry.actor, at=retry.at)
        return get_head(incident.instance_id)
