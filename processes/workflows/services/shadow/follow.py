"""Follow the inputs of shadowed instances: each is given to its twin once, in order, and what differs is counted.

The inputs are a queue. What a twin made of some of them is written in the transaction that deletes them, so a follower
that dies begins again where it was, and of two that do the same at once the second finds nothing to delete. The engine
runs before that transaction: no instance waits for a twin.
"""

import time
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import msgspec
import structlog
from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F
from django.utils import timezone

from processes.workflows.engine.twin import Difference
from processes.workflows.models import (
    ShadowDifference,
    ShadowExample,
    ShadowInput,
    ShadowTwin,
    WorkflowShadow,
)
from processes.workflows.services.shadow.twins import End, Found, Progress, follow_instance

BATCH = 50
CPU_SECONDS = 0.25
"""Of each turn, and turns begin a second apart: shadows leave the machine to what is live."""
HEARING = timedelta(minutes=10)
"""How long inputs are recorded after the follower was last seen."""
MOST_WAITING = 100_000
"""Inputs of a shadow, beyond which it is deaf until they are done."""
MOST_TWINS = 1000
IDLE = timedelta(hours=1)
"""A twin that has heard nothing for so long gives way to a new one, where there are too many."""
MOST_PLACES = 200
"""Differences of a shadow by kind and place; further ones are counted by their kind alone."""
MOST_EXAMPLES = 10
LONGEST_SIDE = 2000
"""Characters that are kept of what one side of a difference has."""

log = structlog.get_logger(__name__)


class _Overtaken(Exception):
    """Another follower has dealt with these inputs."""


def follow_shadows() -> bool:
    """Bring the twins up to date, within the time of a turn; return whether there is more to do."""
    began = time.thread_time()
    _extend_recording(timezone.now())
    while rows := list(ShadowInput.objects.order_by("pk")[:BATCH]):
        by_instance: dict[tuple[int, UUID], list[ShadowInput]] = {}
        for row in rows:
            by_instance.setdefault((row.shadow, row.instance), []).append(row)
        for (shadow_id, instance_id), inputs in by_instance.items():
            _follow_or_give_up(shadow_id, instance_id, inputs)
            if time.thread_time() - began > CPU_SECONDS:
                return True
    return False


def _follow_or_give_up(shadow_id: int, instance_id: UUID, inputs: Sequence[ShadowInput]) -> None:
    try:
        follow_inputs(shadow_id, instance_id, inputs)
    except (OperationalError, InterfaceError):
        raise  # the database is away, or two wait for each other: the next turn tries again
    except Exception:
        # What can never be written must not keep all other twins waiting.
        log.exception("workflows.shadow_input_dropped", shadow=shadow_id, instance=str(instance_id))
        _write_once(shadow_id, instance_id, inputs, Progress(0, None, [], end=End.LOST))


def follow_inputs(shadow_id: int, instance_id: UUID, inputs: Sequence[ShadowInput]) -> None:
    """Give the inputs of one instance to its twin, and write what came of it, once."""
    rows = WorkflowShadow.objects.select_related("definition", "revision").defer("revision__source")
    shadow = rows.filter(pk=shadow_id).first()
    progress = None
    if shadow is not None:
        twin = ShadowTwin.objects.filter(shadow=shadow, instance=instance_id).first()
        # A twin begins with its instance: of one that is under way nothing is known.
        if twin is not None or inputs[0].version == 1:
            progress = follow_instance(shadow, instance_id, twin, inputs)
    _write_once(shadow_id, instance_id, inputs, progress)


def _extend_recording(now: datetime) -> None:
    """Let inputs be recorded for longer; for a shadow that is too far behind none are, and its twins see the gap."""
    for shadow in WorkflowShadow.objects.only("pk", "hears_until"):
        is_recent = shadow.hears_until is not None and shadow.hears_until > now + HEARING * 0.9
        if is_recent:
            continue
        waiting = ShadowInput.objects.filter(shadow=shadow.pk).order_by("pk")
        is_full = waiting.values_list("pk")[MOST_WAITING : MOST_WAITING + 1].exists()
        WorkflowShadow.objects.filter(pk=shadow.pk).update(hears_until=None if is_full else now + HEARING)


def _write_once(shadow_id: int, instance_id: UUID, inputs: Sequence[ShadowInput], progress: Progress | None) -> None:
    try:
        with transaction.atomic():
            _write(shadow_id, instance_id, inputs, progress)
    except _Overtaken:
        log.info("workflows.shadow_overtaken", shadow=shadow_id, instance=str(instance_id))


def _write(shadow_id: int, instance_id: UUID, inputs: Sequence[ShadowInput], progress: Progress | None) -> None:
    # First, so that promoting, discarding and another follower wait here or are waited for.
    shadow = WorkflowShadow.objects.select_for_update(no_key=True).filter(pk=shadow_id).first()
    deleted, _ = ShadowInput.objects.filter(pk__in=[each.pk for each in inputs]).delete()
    if deleted != len(inputs):
        raise _Overtaken
    if shadow is None or progress is None:
        return
    twin = ShadowTwin.objects.filter(shadow=shadow, instance=instance_id).first()
    if twin is None and progress.end is None and not _has_room(shadow, at=inputs[-1].recorded_at):
        shadow.left_out += 1
        shadow.save(update_fields=["left_out"])
        return
    _count(shadow, twin, progress)
    _write_twin(shadow, instance_id, twin, progress)
    _write_differences(shadow, instance_id, progress.found)


def _has_room(shadow: WorkflowShadow, *, at: datetime) -> bool:
    """Tell whether another twin may begin; one that has heard nothing for long gives way to it."""
    if shadow.following < MOST_TWINS:
        return True
    idle = ShadowTwin.objects.filter(shadow=shadow, heard_at__lt=at - IDLE).order_by("heard_at").first()
    if idle is None:
        return False
    idle.delete()
    shadow.following -= 1
    shadow.incomplete += not idle.reported
    return True


def _count(shadow: WorkflowShadow, twin: ShadowTwin | None, progress: Progress) -> None:
    shadow.steps += progress.steps
    shadow.following += (progress.end is None) - (twin is not None)
    if any(found.is_first for found in progress.found):
        shadow.different += 1
    if progress.end is not None and not progress.reported:
        shadow.equal += progress.end is End.ENDED
        shadow.incomplete += progress.end is End.LOST
    shadow.save(update_fields=["steps", "following", "equal", "different", "incomplete"])


def _write_twin(shadow: WorkflowShadow, instance_id: UUID, twin: ShadowTwin | None, progress: Progress) -> None:
    if progress.end is not None:
        if twin is not None:
            twin.delete()
        return
    values = {
        "version": progress.version,
        "state": progress.text,
        "reported": progress.reported,
        "heard_at": progress.heard_at,
    }
    ShadowTwin.objects.update_or_create(shadow=shadow, instance=instance_id, defaults=values)


def _write_differences(shadow: WorkflowShadow, instance_id: UUID, found: Iterable[Found]) -> None:
    for each in found:
        difference = _get_difference(shadow, each.difference, at=each.at)
        ShadowDifference.objects.filter(pk=difference.pk).update(count=F("count") + 1, last_at=each.at)
        if difference.count < MOST_EXAMPLES:
            ShadowExample.objects.create(
                difference=difference,
                instance=instance_id,
                version=each.version,
                at=each.at,
                is_first=each.is_first,
                live=_shorten(each.difference.live),
                withheld=_shorten(each.difference.withheld),
            )


def _get_difference(shadow: WorkflowShadow, found: Difference, *, at: datetime) -> ShadowDifference:
    """Return the row of a difference by its kind and place; by its kind alone, where there are too many."""
    rows = ShadowDifference.objects.filter(shadow=shadow)
    place = found.place[:200]
    known = rows.filter(kind=found.kind, place=place).first()
    if known is not None:
        return known
    place = place if rows.count() < MOST_PLACES else ""
    values = {"first_at": at, "last_at": at}
    return rows.get_or_create(shadow=shadow, kind=found.kind, place=place, defaults=values)[0]


def _shorten(value: Any) -> str:
    text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    return text if len(text) <= LONGEST_SIDE else f"{text[:LONGEST_SIDE]}…"
