"""Return an instance to an earlier version: that one becomes the parent of a new head, and what came after it stays.

What waits is there again under new ids; what has not left yet of the abandoned versions is cancelled, and what was
cancelled on the way to the version that is returned to may leave after all.
"""

from collections.abc import Mapping
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
from processes.workflows.engine.runner import InstanceState
from processes.workflows.errors import NotPossible as Refused
from processes.workflows.heads import Head, get_head
from processes.workflows.ids import public_id, public_task_id
from processes.workflows.models import WorkflowEffect, WorkItem
from processes.workflows.selectors import LoadedVersion, find_ancestors, get_version
from processes.workflows.services.execution import head_after
from processes.workflows.services.holding import release_postponed_events
from processes.workflows.services.incidents import resolve_incidents
from processes.workflows.services.library import library_for
from processes.workflows.services.open_work import compare_open_work, section
from processes.workflows.services.planning import CommandRequest, make_step
from processes.workflows.services.work_names import EFFECTS, TIMERS
from processes.workflows.services.write_step import write_step

Effect = WorkflowEffect.Status
ABANDONED = gettext_noop("abandoned by a return")


@dataclass(frozen=True)
class _Way:
    """From the head to the version that is returned to."""

    past: LoadedVersion
    abandoned: set[int]
    taken_up: set[int]
    """Versions of another branch that count again."""


def return_instance(instance_id: UUID, *, version: int, reason: str, actor: str, at: datetime) -> Head:
    """Make an earlier version the parent of a new head."""
    if not reason.strip():
        raise Invalid({"reason": [gettext("Is required.")]})
    with transaction.atomic():
        head = get_head(instance_id, lock=True)
        way = _find_way(head, version)
        state = _renewed(head, way.past, at=at)
        order = CommandRequest({"command": "return"}, actor=actor, at=at, cause=f"return to {version}: {reason}")
        # It ended when the version did: an end that is returned to is an end of now.
        step = make_step(
            replace(head, ended_at=None),
            order,
            state,
            mirrored=compare_open_work(head.state, state, is_return=True),
            parent=version,
            revision_id=way.past.version.revision_id,
        )
        status = write_step(step)
        assert status is not None, "the head has moved while its instance was locked"
        _settle_effects(instance_id, way)
        if head.open_incidents:
            status = resolve_incidents(instance_id, Q(), note=ABANDONED, actor=actor, at=at)
        release_postponed_events(instance_id)
        for work in (TIMERS, EFFECTS):
            ring(work)
    revision = way.past.version.revision.number
    return head_after(replace(head, revision=revision, open_incidents=0), step, state, status)


def preview_return(instance_id: UUID, *, version: int, at: datetime) -> dict[str, list[dict[str, Any]]]:
    """Say what a return would cancel, what would begin again, and what cannot be taken back; change nothing."""
    head = get_head(instance_id)
    way = _find_way(head, version)
    effects = WorkflowEffect.objects.filter(instance=instance_id).order_by("pk")
    waiting = effects.filter(_in(way.abandoned), status__in=[Effect.WAITING, Effect.REFUSED])
    again = effects.filter(_in(way.taken_up), status=Effect.CANCELLED)
    left = effects.filter(_in(way.abandoned), status=Effect.LEFT)
    return {
        "cancelled": [*_waiting(head.id, head.state), *map(_effect, waiting)],
        "restarted": [*_waiting(head.id, _renewed(head, way.past, at=at)), *map(_effect, again)],
        "irrevocable": [*map(_effect, left), *_work_done(instance_id, way)],
    }


def _find_way(head: Head, version: int) -> _Way:
    past = get_version(head.id, version)
    if version == head.number:
        raise Refused(reason="It is the newest version: there is nothing to return from.")
    ours, theirs = find_ancestors(head.id, head.number), find_ancestors(head.id, version)
    return _Way(past, abandoned=ours - theirs, taken_up=theirs - ours)


def _renewed(head: Head, past: LoadedVersion, *, at: datetime) -> InstanceState:
    if past.state is None:
        raise Refused(reason="The instance had not started in that version.")
    try:
        return branch_state(
            library_for(head.enterprise), past.state, epoch=head.epoch + 1, taken_at=past.version.at, at=at
        )
    except CommandRejected as refusal:
        raise Refused(reason=refusal.reason) from refusal


def _settle_effects(instance_id: UUID, way: _Way) -> None:
    """Cancel what has not left; whoever is letting one leave at this moment is overtaken by the fence, or was first."""
    effects = WorkflowEffect.objects.filter(instance=instance_id)
    waiting = effects.filter(_in(way.abandoned), status__in=[Effect.WAITING, Effect.REFUSED])
    waiting.update(status=Effect.CANCELLED, due_at=None, fence=F("fence") + 1)
    again = effects.filter(_in(way.taken_up), status=Effect.CANCELLED)
    again.update(status=Effect.WAITING, due_at=Now(), fence=F("fence") + 1)


def _in(versions: set[int]) -> Q:
    return Q(version__in=in_number_array(versions))


def _waiting(instance_id: UUID, state: InstanceState | None) -> list[dict[str, Any]]:
    """List what waits in a state."""
    kinds = (("task", "tasks"), ("timer", "timers"), ("subscription", "subscriptions"), ("item", "items"))
    return [
        {
            "what": what,
            "id": _id(instance_id, what, local, each),
            "element": each["element"],
            "kind": each["kind"] if "kind" in each else each["state"],
        }
        for what, part in kinds
        for local, each in section(state or {}, part).items()
        if each.get("state") not in ("completed", "terminated", "closed")
    ]


def _id(instance_id: UUID, what: str, local: str, each: Mapping[str, Any]) -> str:
    if what != "task":
        return public_id(instance_id, local)
    return public_task_id(instance_id, local, datetime.fromisoformat(each["since"]))


def _effect(effect: WorkflowEffect) -> dict[str, Any]:
    return {
        "what": "effect",
        "id": public_id(effect.instance_id, effect.local),
        "element": effect.element,
        "kind": effect.kind,
        "name": effect.name,
        "version": effect.version,
        "at": format_time(effect.left_at or effect.at),
    }


def _work_done(instance_id: UUID, way: _Way) -> list[dict[str, Any]]:
    """List what workers and handlers have done: that is out in the world too."""
    rows = WorkItem.objects.filter(instance=instance_id, status=WorkItem.Status.DONE)
    done = rows.filter(kind__in=["external", "job"], closed_by__in=in_number_array(way.abandoned)).order_by("pk")
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
