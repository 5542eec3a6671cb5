"""Write a step: one statement on PostgreSQL, so that it needs no transaction around it; the same rows on SQLite."""

from functools import lru_cache
from typing import Any

import msgspec
from django.db import connection, transaction
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Now

from config.common.background.ring import ring
from config.common.database.sql import bulk_execute, in_array, load_engine_sql, postgresql_cursor
from notifications.services.events import SEQUENCER, NewEvent, record_events
from processes.workflows.heads import PACKAGE
from processes.workflows.models import (
    WorkflowBody,
    WorkflowEffect,
    WorkflowInstance,
    WorkflowSubscription,
    WorkflowTimer,
    WorkflowVersion,
    WorkItem,
)
from processes.workflows.services.steps import NewInstance, NewItem, NewSubscription, Step
from processes.workflows.services.work_names import EFFECTS, JOBS, TIMERS

# The parts of the statement that are left out where there is nothing for them.
PARTS = {
    "body": "bodies",
    "item_closed": "items_closed",
    "item_opened": "items",
    "item_held": "items_held",
    "timer_gone": "timers_gone",
    "timer": "timers",
    "subscription_gone": "subscriptions_gone",
    "subscription": "subscriptions",
    "effect": "effects",
    "event": "events",
}
_encoder = msgspec.json.Encoder()


def write_step(step: Step) -> str | None:
    """Move the head and write what follows; return the instance's status, or None if the head has moved meanwhile."""
    status = _write_at_once(step) if connection.vendor == "postgresql" else _write(step)
    if status is not None:
        _ring(step)
    return status


def _write_at_once(step: Step) -> str | None:
    mirror = step.mirror
    values = {
        "instance": step.instance_id,
        "head": step.head,
        "open_incidents": step.open_incidents,
        "number": step.number,
        "parent": step.parent,
        "epoch": step.epoch,
        "revision": step.revision_id,
        "record": step.record,
        "status": step.status,
        "ended_at": step.ended_at,
        "cause": step.cause,
        "actor": step.actor,
        "at": step.at,
        "chain": step.correlation_id,
        "skeleton": step.skeleton,
        "bodies": _json(step.bodies),
        "digests": step.digests,
        "taken_key": step.taken_key,
        "position": step.position,
        "items": _json(mirror.items),
        "items_held": _json(mirror.items_held),
        "items_closed": _json({closed["local"]: closed["status"] for closed in mirror.items_closed}),
        "timers": _json(mirror.timers),
        "timers_gone": _json(mirror.timers_gone),
        "subscriptions": _json(mirror.subscriptions),
        "subscriptions_gone": _json(mirror.subscriptions_gone),
        "effects": _json(step.effects),
        "events": _json(step.events),
        **(step.beginning or {}),
    }
    empty = frozenset(part for part, name in PARTS.items() if values[name] in ("[]", "{}"))
    statement = _statement("move_head" if step.beginning is None else "begin_instance", empty)
    with postgresql_cursor() as cursor:
        row = cursor.execute(statement, values, prepare=True).fetchone()
    return None if row is None else str(row[0])


@lru_cache(maxsize=2048)
def _statement(first: str, empty: frozenset[str]) -> str:
    """Put the statement together from the parts that have something to write; each would cost, also without."""
    _, *parts = load_engine_sql(PACKAGE, "write_step").strip().split("\n\n")
    kept = [part for part in parts if part.partition(" ")[0] not in empty]
    moved = f"moved AS (\n{load_engine_sql(PACKAGE, first)})"
    return f"WITH {', '.join([moved, *kept])}\nSELECT status FROM moved"


def _json(value: Any) -> str:
    return _encoder.encode(value).decode() if value else "{}" if isinstance(value, dict) else "[]"


def _write(step: Step) -> str | None:
    with transaction.atomic():
        if step.beginning is not None:
            _write_instance(step, step.beginning)
        held = WorkflowInstance.objects.filter(pk=step.instance_id, head=step.head, open_incidents=step.open_incidents)
        if not held.update(
            head=step.number,
            epoch=step.epoch,
            revision=step.revision_id,
            ended_at=step.ended_at,
            status=_status(step.status),
        ):
            return None
        bodies = [WorkflowBody(digest=digest, content=content) for digest, content in step.bodies.items()]
        WorkflowBody.objects.bulk_create(bodies, ignore_conflicts=True)
        WorkflowBody.objects.filter(pk__in=in_array(list(step.bodies))).update(touched_at=Now())
        _write_version(step)
        _write_mirror(step)
        _write_effects(step)
        status: str = WorkflowInstance.objects.values_list("status", flat=True).get(pk=step.instance_id)
        return status


def _write_instance(step: Step, beginning: NewInstance) -> None:
    WorkflowInstance.objects.create(
        id=step.instance_id,
        definition_id=beginning["definition"],
        revision_id=step.revision_id,
        record=step.record,
        started_at=step.at,
        start_key=beginning["start_key"],
        correlation_id=step.correlation_id,
    )


def _status(status: str) -> Case:
    """An instance with an open incident says so, while it goes on and when it has come to its end."""
    troubled = Q(open_incidents__gt=0) & Q(Value(status in ("active", "completed")))
    return Case(When(troubled, then=Value("incident")), default=Value(status))


def _write_version(step: Step) -> None:
    WorkflowVersion.objects.create(
        instance_id=step.instance_id,
        number=step.number,
        parent=step.parent,
        cause=step.cause,
        actor=step.actor,
        at=step.at,
        status=step.status,
        revision_id=step.revision_id,
        correlation_id=step.correlation_id,
        skeleton=step.skeleton,
        bodies=step.digests,
        taken_key=step.taken_key,
    )


def _write_mirror(step: Step) -> None:
    """Write the rows of open work by a few statements, however many they are: SQLite lets nobody write meanwhile."""
    mirror, instance = step.mirror, step.instance_id.hex
    _close_items(step)
    open_items = WorkItem.objects.filter(instance=step.instance_id, status=WorkItem.Status.OPEN)
    if mirror.items_held:
        turned = open_items.filter(local__in=in_array(mirror.items_held))
        turned.update(due_at=Case(When(due_at=None, then=Value(step.at))), fence=F("fence") + 1)
    made = (step.number, step.correlation_id)
    bulk_execute(PACKAGE, "open_items", [_item_row(instance, item, *made) for item in mirror.items])
    for model, gone in ((WorkflowTimer, mirror.timers_gone), (WorkflowSubscription, mirror.subscriptions_gone)):
        if gone:
            model._default_manager.filter(instance=step.instance_id, local__in=in_array(gone)).delete()
    bulk_execute(
        PACKAGE,
        "set_timers",
        [(instance, timer["local"], timer["element"], timer["due_at"]) for timer in mirror.timers],
    )
    heard = (step.record, step.position)
    bulk_execute(PACKAGE, "subscribe", [(instance, *_values(each), *heard) for each in mirror.subscriptions])


def _close_items(step: Step) -> None:
    """One statement for each status that they end in."""
    closed: dict[str, list[str]] = {}
    for gone in step.mirror.items_closed:
        closed.setdefault(gone["status"], []).append(gone["local"])
    for status, names in closed.items():
        items = WorkItem.objects.filter(
            instance=step.instance_id, local__in=in_array(names), status=WorkItem.Status.OPEN
        )
        items.update(status=status, closed_by=step.number, due_at=None, fence=F("fence") + 1)


def _item_row(instance: str, item: NewItem, number: int, chain: str) -> tuple[Any, ...]:
    named = (item["local"], item["element"], item["name"], item["kind"], item["topic"], item["inputs"], item["since"])
    return (instance, *named, number, item["due_at"], chain)


def _values(each: NewSubscription) -> tuple[Any, ...]:
    return (each["local"], each["element"], each["definition"], each["revision"], each["kind"], each["name"])


def _write_effects(step: Step) -> None:
    shared = {"version": step.number, "at": step.at, "correlation_id": step.correlation_id}
    effects = [WorkflowEffect(instance_id=step.instance_id, **shared, **effect) for effect in step.effects]
    WorkflowEffect.objects.bulk_create(effects)
    record_events(NewEvent(**event, at=step.at, correlation_id=step.correlation_id) for event in step.events)


def _ring(step: Step) -> None:
    if step.events:
        ring(SEQUENCER)
    if any(effect["due_at"] is not None for effect in step.effects):
        ring(EFFECTS)
    if any(item["kind"] == WorkItem.Kind.JOB for item in step.mirror.items):
        ring(JOBS)
    if step.mirror.timers:
        ring(TIMERS)
