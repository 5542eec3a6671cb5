"""Write a step: one statement on PostgreSQL, which needs no transaction around it; several in one on SQLite."""

from functools import lru_cache
from operator import itemgetter
from typing import Any

import msgspec
from django.db import connection, transaction
from django.db.models import Case, F, Q, Value, When
from django.db.models.functions import Now

from config.common.background.ring import ring
from config.common.database.sql import bulk_execute, in_array, load_engine_sql, postgresql_cursor
from notifications.services.events import SEQUENCER, NewEvent, encode_events, event_part, record_events
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
from processes.workflows.services.steps import NewInstance, Step
from processes.workflows.services.work_names import EFFECTS, JOBS, TIMERS

# The optional parts of the statement, by the parameter without which a part is left out.
PARTS = {
    "body": "bodies",
    "item_closed": "items_closed",
    "item_opened": "items",
    "item_toggled": "items_toggled",
    "timer_gone": "timers_gone",
    "timer": "timers",
    "subscription_gone": "subscriptions_gone",
    "subscription": "subscriptions",
    "effect": "effects",
    "event": "events",
}
_encoder = msgspec.json.Encoder()


def write_step(step: Step) -> str | None:
    """Write a step; return the instance's status, or None if its head or open incidents have changed meanwhile."""
    status = _write_postgresql(step) if connection.vendor == "postgresql" else _write_sqlite(step)
    if status is not None:
        _ring_workers(step)
    return status


def _write_postgresql(step: Step) -> str | None:
    open_work = step.open_work
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
        "items": _json(open_work.items),
        "items_toggled": _json(open_work.items_toggled),
        "items_closed": _json({closed["local"]: closed["status"] for closed in open_work.items_closed}),
        "timers": _json(open_work.timers),
        "timers_gone": _json(open_work.timers_gone),
        "subscriptions": _json(open_work.subscriptions),
        "subscriptions_gone": _json(open_work.subscriptions_gone),
        "effects": _json(step.effects),
        "events": encode_events(step.events) if step.events else "[]",
        **(step.new_instance or {}),
    }
    empty = frozenset(part for part, name in PARTS.items() if values[name] in ("[]", "{}"))
    statement = _statement("move_head" if step.new_instance is None else "start_instance", empty)
    with postgresql_cursor() as cursor:
        row = cursor.execute(statement, values, prepare=True).fetchone()
    return None if row is None else str(row[0])


@lru_cache(maxsize=2048)
def _statement(first: str, empty: frozenset[str]) -> str:
    """Join the parts that have something to write."""
    # Each part costs planning and execution, also when it writes nothing.
    _, *parts = load_engine_sql(PACKAGE, "write_step").strip().split("\n\n")
    parts.append(f"event AS (\n{event_part('moved')})")
    needed = [part for part in parts if part.partition(" ")[0] not in empty]
    moved = f"moved AS (\n{load_engine_sql(PACKAGE, first)})"
    return f"WITH {', '.join([moved, *needed])}\nSELECT status FROM moved"


def _json(value: Any) -> str:
    return _encoder.encode(value).decode() if value else "{}" if isinstance(value, dict) else "[]"


def _write_sqlite(step: Step) -> str | None:
    with transaction.atomic():
        if step.new_instance is not None:
            _write_instance(step, step.new_instance)
        unmoved = WorkflowInstance.objects.filter(
            pk=step.instance_id, head=step.head, open_incidents=step.open_incidents
        )
        troubled = Q(open_incidents__gt=0) & Q(Value(step.status in ("active", "completed")))
        if not unmoved.update(
            head=step.number,
            epoch=step.epoch,
            revision=step.revision_id,
            ended_at=step.ended_at,
            # While an incident is open the instance says so, also when it has come to its end.
            status=Case(When(troubled, then=Value("incident")), default=Value(step.status)),
        ):
            return None
        bodies = [WorkflowBody(digest=digest, content=content) for digest, content in step.bodies.items()]
        WorkflowBody.objects.bulk_create(bodies, ignore_conflicts=True)
        WorkflowBody.objects.filter(pk__in=in_array(list(step.bodies))).update(touched_at=Now())
        _write_version(step)
        _write_open_work(step)
        _write_effects(step)
        status: str = WorkflowInstance.objects.values_list("status", flat=True).get(pk=step.instance_id)
        return status


def _write_instance(step: Step, new_instance: NewInstance) -> None:
    WorkflowInstance.objects.create(
        id=step.instance_id,
        definition_id=new_instance["definition"],
        revision_id=step.revision_id,
        record=step.record,
        started_at=step.at,
        start_key=new_instance["start_key"],
        correlation_id=step.correlation_id,
    )


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


def _write_open_work(step: Step) -> None:
    """Write the rows of open work by a few statements, however many they are: SQLite lets nobody write meanwhile."""
    changes, instance = step.open_work, step.instance_id.hex
    _close_items(step)
    if changes.items_toggled:
        items = WorkItem.objects.filter(instance=step.instance_id, status=WorkItem.Status.OPEN)
        toggled = items.filter(local__in=in_array(changes.items_toggled))
        toggled.update(due_at=Case(When(due_at=None, then=Value(step.at))), fence=F("fence") + 1)
    opened = itemgetter("local", "element", "name", "kind", "topic", "inputs", "since")
    bulk_execute(
        PACKAGE,
        "open_items",
        [(instance, *opened(item), step.number, item["due_at"], step.correlation_id) for item in changes.items],
    )
    for model, gone in ((WorkflowTimer, changes.timers_gone), (WorkflowSubscription, changes.subscriptions_gone)):
        if gone:
            model._default_manager.filter(instance=step.instance_id, local__in=in_array(gone)).delete()
    timer_values = itemgetter("local", "element", "due_at")
    bulk_execute(PACKAGE, "set_timers", [(instance, *timer_values(timer)) for timer in changes.timers])
    subscribed = itemgetter("local", "element", "definition", "revision", "kind", "name")
    bulk_execute(
        PACKAGE,
        "subscribe",
        [(instance, *subscribed(each), step.record, step.position) for each in changes.subscriptions],
    )


def _close_items(step: Step) -> None:
    names_by_status: dict[str, list[str]] = {}
    for closed in step.open_work.items_closed:
        names_by_status.setdefault(closed["status"], []).append(closed["local"])
    for status, names in names_by_status.items():
        items = WorkItem.objects.filter(
            instance=step.instance_id, local__in=in_array(names), status=WorkItem.Status.OPEN
        )
        items.update(status=status, closed_by=step.number, due_at=None, fence=F("fence") + 1)


def _write_effects(step: Step) -> None:
    shared = {"version": step.number, "at": step.at, "correlation_id": step.correlation_id}
    effects = [WorkflowEffect(instance_id=step.instance_id, **shared, **effect) for effect in step.effects]
    WorkflowEffect.objects.bulk_create(effects)
    if step.events:
        record_events(NewEvent(**event, at=step.at, correlation_id=step.correlation_id) for event in step.events)


def _ring_workers(step: Step) -> None:
    if step.events:
        ring(SEQUENCER)
    if any(effect["due_at"] is not None for effect in step.effects):
        ring(EFFECTS)
    if any(item["kind"] == WorkItem.Kind.JOB for item in step.open_work.items):
        ring(JOBS)
    if step.open_work.timers:
        ring(TIMERS)
