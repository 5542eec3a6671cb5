"""Return an instance to an earlier version, which becomes the parent of a new head; later versions stay as a branch.

Open work is opened again under new ids. Effects of the abandoned versions that were not dispatched are cancelled, those
that have left and not arrived are recalled (`effects/recall.py`), and effects that an earlier return had cancelled on
the way to this version are due again.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext, gettext_noop

from config.common.background.ring import ring
from config.common.database.sql import in_number_array
from config.common.errors import Invalid
from config.common.times import format_time
from processes.workflows.engine.branch import branch_state
from processes.workflows.engine.execution.errors import CommandRejected
from processes.workflows.engine.execution.visits import find_visits
from processes.workflows.engine.runner import CommandOutcome, InstanceState
from processes.workflows.errors import NotPossible, VersionConflict
from processes.workflows.heads import Head, get_head
from processes.workflows.ids import public_id, public_task_id
from processes.workflows.models import WorkflowEffect, WorkItem
from processes.workflows.selectors import LoadedVersion, find_ancestors, get_version
from processes.workflows.services.commands import head_after
from processes.workflows.services.definitions.library import library_for
from processes.workflows.services.effects.recall import find_recallable, recall
from processes.workflows.services.incidents import resolve_incidents
from processes.workflows.services.plan_step import build_step, compare_open_work
from processes.workflows.services.steps import CommandRequest
from processes.workflows.services.suspension import release_postponed_events
from processes.workflows.services.work_names import EFFECTS, TIMERS
from processes.workflows.services.write_step import write_step
from processes.workflows.state_storage import section

Effect = WorkflowEffect.Status
ABANDONED = gettext_noop("cancelled by a return")


def return_instance(instance_id: UUID, *, version: int, reason: str, actor: str, at: datetime) -> Head:
    """Make an earlier version the parent of a new head."""
    if not reason.strip():
        raise Invalid({"reason": [gettext("This field is required.")]})
    with transaction.atomic():
        head = get_head(instance_id, lock=True)
        path = _find_path(head, version)
        state = _branch(head, path.target, at=at)
        request = CommandRequest({"command": "return"}, actor=actor, at=at, cause=f"return to {version}: {reason}")
        # Without the old end, an end that is returned to counts from now.
        step = build_step(
            replace(head, ended_at=None),
            request,
            CommandOutcome(state, ()),
            open_work=compare_open_work(head.state, state, is_return=True, about=f"{head.record}\n{head.definition}"),
            parent=version,
            revision_id=path.target.version.revision_id,
            visits=find_visits(head.state, state, {}, {}, is_return=True),
        )
        status = write_step(step)
        assert status is not None, "the head has moved while its instance was locked"
        _switch_effects(instance_id, path, reason=reason, actor=actor)
        if head.open_incidents:
            status = resolve_incidents(instance_id, Q(), note=ABANDONED, actor=actor, at=at)
        release_postponed_events(instance_id)
        for work in (TIMERS, EFFECTS):
            ring(work)
    revision = path.target.version.revision.number
    return head_after(replace(head, revision=revision, open_incidents=0), step, state, status)


def return_if_unchanged(
    instance_id: UUID, *, version: int, expected_version: int, reason: str, actor: str, at: datetime
) -> Head:
    """Return to a version, unless the instance has moved on since the preview that the person has seen."""
    with transaction.atomic():
        head = get_head(instance_id, lock=True)
        if head.number != expected_version:
            raise VersionConflict(version=head.number)
        return return_instance(instance_id, version=version, reason=reason, actor=actor, at=at)


def preview_return(instance_id: UUID, *, version: int, at: datetime) -> dict[str, list[dict[str, Any]]]:
    """Return what a return would cancel, what it would restart and what cannot be undone; change nothing."""
    head = get_head(instance_id)
    path = _find_path(head, version)
    effects = WorkflowEffect.objects.filter(instance=instance_id).order_by("pk")
    waiting = effects.filter(_in(path.abandoned), status__in=[Effect.WAITING, Effect.REFUSED])
    again = effects.filter(_in(path.restored), status=Effect.CANCELLED)
    left = list(effects.filter(_in(path.abandoned), status=Effect.LEFT))
    recallable = find_recallable(left)
    recalled = [{**_describe_effect(effect), "recalled": True} for effect in left if effect.pk in recallable]
    return {
        "cancelled": [*_list_open_work(head.id, head.state), *map(_describe_effect, waiting), *recalled],
        "restarted": [*_list_open_work(head.id, _branch(head, path.target, at=at)), *map(_describe_effect, again)],
        "irrevocable": [
            *(_describe_effect(effect) for effect in left if effect.pk not in recallable),
            *_list_work_done(instance_id, path),
        ],
    }


@dataclass(frozen=True)
class _ReturnPath:
    """The versions that a return leaves and those that it leads back to."""

    target: LoadedVersion
    abandoned: set[int]
    restored: set[int]
    """Versions of another branch that count again."""


def _find_path(head: Head, version: int) -> _ReturnPath:
    target = get_version(head.id, version)
    if version == head.number:
        raise NotPossible(reason="It is the newest version: there is nothing to return from.")
    ours, theirs = find_ancestors(head.id, head.number), find_ancestors(head.id, version)
    return _ReturnPath(target, abandoned=ours - theirs, restored=theirs - ours)


def _branch(head: Head, target: LoadedVersion, *, at: datetime) -> InstanceState:
    if target.state is None:
        raise NotPossible(reason="The instance had not started in that version.")
    try:
        return branch_state(
            library_for(head.enterprise), target.state, epoch=head.epoch + 1, taken_at=target.version.at, at=at
        )
    except CommandRejected as refusal:
        raise NotPossible(reason=refusal.reason) from refusal


def _switch_effects(instance_id: UUID, path: _ReturnPath, *, reason: str, actor: str) -> None:
    """Cancel or recall the effects that the return abandons; make those due again that it restores."""
    # Whoever dispatches one at this moment is overtaken by the fence, or was first.
    effects = WorkflowEffect.objects.filter(instance=instance_id)
    waiting = effects.filter(_in(path.abandoned), status__in=[Effect.WAITING, Effect.REFUSED])
    waiting.update(status=Effect.CANCELLED, due_at=None, fence=F("fence") + 1)
    recall(instance_id, effects.filter(_in(path.abandoned), status=Effect.LEFT), reason=reason, actor=actor)
    again = effects.filter(_in(path.restored), status=Effect.CANCELLED)
    again.update(status=Effect.WAITING, due_at=Now(), fence=F("fence") + 1)


def _in(versions: set[int]) -> Q:
    return Q(version__in=in_number_array(versions))


def _list_open_work(instance_id: UUID, state: InstanceState | None) -> list[dict[str, Any]]:
    kinds = (("task", "tasks"), ("timer", "timers"), ("subscription", "subscriptions"), ("item", "items"))
    return [
        {
            "what": what,
            "id": public_task_id(instance_id, local, datetime.fromisoformat(each["since"]))
            if what == "task"
            else public_id(instance_id, local),
            "element": each["element"],
            "kind": each["kind"] if "kind" in each else each["state"],
        }
        for what, part in kinds
        for local, each in section(state or {}, part).items()
        if each.get("state") not in ("completed", "terminated", "closed")
    ]


def _describe_effect(effect: WorkflowEffect) -> dict[str, Any]:
    return {
        "what": "effect",
        "id": public_id(effect.instance_id, effect.local),
        "element": effect.element,
        "kind": effect.kind,
        "name": effect.name,
        "version": effect.version,
        "at": format_time(effect.left_at or effect.at),
    }


def _list_work_done(instance_id: UUID, path: _ReturnPath) -> list[dict[str, Any]]:
    """List the work that workers and handlers have completed: its effect on the world cannot be undone either."""
    rows = WorkItem.objects.filter(instance=instance_id, status=WorkItem.Status.DONE)
    done = rows.filter(kind__in=WorkItem.CLAIMABLE, closed_by__in=in_number_array(path.abandoned)).order_by("pk")
    return [
        {
            "what": "task",
            "id": item.public_id,
            "element": item.element,
            "kind": item.kind,
            "name": item.topic,
            "version": item.closed_by,
        }
        for item in done
    ]
