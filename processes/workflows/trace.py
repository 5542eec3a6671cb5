"""What this app adds to the trace of a correlation id: versions and effects."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import F
from django.urls import reverse
from django.utils.translation import gettext

from config.audit.trace import Related, Standing, TraceStep, Upcoming
from processes.workflows.admin.presentation import describe_cause
from processes.workflows.element_names import name_in_words
from processes.workflows.ids import public_id
from processes.workflows.models import WorkflowEffect, WorkflowInstance, WorkflowTimer, WorkflowVersion, WorkItem
from processes.workflows.models.instance import ENDED, Status
from processes.workflows.subjects import say_record

COMING = 50
"""Timers and tasks that are told of."""
AUTOMATIC = re.compile(r"event|timer|workflow|handler:.*", re.DOTALL)
"""Actors of versions that are no person and no key: the engine has gone on by itself."""
EFFECTS = {WorkflowEffect.Status.WAITING: Standing.OPEN, WorkflowEffect.Status.REFUSED: Standing.FAILED}
"""All others have ended as they should."""


def trace_versions(correlation_id: str, most: int) -> Iterator[TraceStep]:
    rows = WorkflowVersion.objects.filter(correlation_id=correlation_id).defer("skeleton", "bodies")
    versions = list(rows.select_related("instance").order_by("at", "pk")[:most])
    # An instance stands where its head does; where another call has moved it on, that one's trace tells the rest.
    here = {version.instance_id for version in versions if version.number == version.instance.head}
    coming = _find_coming(here)
    elsewhere = _find_heads({version.instance_id for version in versions} - here)
    for version in versions:
        is_head = version.number == version.instance.head
        upcoming = coming.get(version.instance_id, ()) if is_head else ()
        yield _version_step(version, upcoming, elsewhere.get(version.instance_id))


def _version_step(version: WorkflowVersion, upcoming: Sequence[Upcoming], head: WorkflowVersion | None) -> TraceStep:
    instance = version.instance
    data = {
        "definition": instance.definition_id,
        "record": instance.record,
        "number": version.number,
        "parent": version.parent,
        "cause": version.cause,
        "actor": version.actor,
    }
    goes_on = gettext("%(instance)s continues: version %(number)s")
    about = version.cause.partition(" ")[2]
    name, element = name_in_words(instance.definition_id, instance.revision_id, about)
    cause = describe_cause(version.cause, {about: element})
    called = " · ".join(filter(None, [name, say_record(instance.record)]))
    return TraceStep(
        version.at,
        "workflow",
        str(instance.pk),
        gettext("%(workflow)s, version %(number)s: %(cause)s")
        % {"workflow": called, "number": version.number, "cause": cause},
        version.status,
        data,
        reverse("admin:workflows_instance_version", args=[instance.pk, version.number]),
        actor="" if AUTOMATIC.fullmatch(version.actor) else version.actor,
        standing=_stand(instance) if version.number == instance.head else None,
        upcoming=tuple(upcoming),
        related=()
        if head is None
        else (Related(goes_on % {"instance": called, "number": head.number}, head.correlation_id),),
    )


def _stand(instance: WorkflowInstance) -> Standing:
    if instance.status in ENDED:
        return Standing.DONE
    return Standing.FAILED if instance.status == Status.INCIDENT else Standing.OPEN


def _find_coming(instances: set[Any]) -> dict[Any, list[Upcoming]]:
    """Return the timers and the open tasks of these instances, by instance."""
    found: dict[Any, list[Upcoming]] = defaultdict(list)
    if not instances:
        return found
    # By the instance's own unique index, instance by instance.
    timers = WorkflowTimer.objects.filter(instance__in=instances).select_related("instance")
    for timer in timers.order_by("instance_id", "pk")[:COMING]:
        instance = timer.instance
        name = name_in_words(instance.definition_id, instance.revision_id, timer.element)[1]
        found[timer.instance_id].append(Upcoming(gettext("timer %(name)s") % {"name": name}, timer.due_at))
    tasks = WorkItem.objects.filter(instance__in=instances, status=WorkItem.Status.OPEN)
    for task in tasks.order_by("instance_id", "pk").defer("inputs")[:COMING]:
        found[task.instance_id].append(_awaited_task(task))
    return found


def _awaited_task(task: WorkItem) -> Upcoming:
    words = {
        WorkItem.Kind.EXTERNAL: gettext("task %(name)s is waiting for its worker"),
        WorkItem.Kind.JOB: gettext("task %(name)s is to be carried out"),
        WorkItem.Kind.RECEIVE: gettext("task %(name)s is waiting for an event"),
    }.get(WorkItem.Kind(task.kind), gettext("task %(name)s is waiting for a person"))
    return Upcoming(words % {"name": task}, task.due_at)


def _find_heads(instances: set[Any]) -> dict[Any, WorkflowVersion]:
    if not instances:
        return {}
    heads = WorkflowVersion.objects.filter(instance__in=instances, number=F("instance__head"))
    return {head.instance_id: head for head in heads.only("instance", "number", "correlation_id")}


def trace_effects(correlation_id: str, most: int) -> Iterator[TraceStep]:
    rows = WorkflowEffect.objects.filter(correlation_id=correlation_id).select_related("instance")
    for effect in rows.order_by("at", "pk")[:most]:
        status, instance = WorkflowEffect.Status(effect.status), effect.instance
        element = name_in_words(instance.definition_id, instance.revision_id, effect.element)[1]
        yield TraceStep(
            effect.at,
            "effect",
            public_id(effect.instance_id, effect.local),
            f"{effect.get_kind_display()} {effect.name or element}",
            status.value,
            {"instance": str(effect.instance_id), "version": effect.version, "kind": effect.kind, "name": effect.name},
            reverse("admin:workflows_instance_version", args=[effect.instance_id, effect.version]),
            standing=EFFECTS.get(status, Standing.DONE),
            upcoming=(Upcoming(gettext("to be carried out"), effect.due_at),) if effect.due_at is not None else (),
        )
