"""Write a step: one statement on PostgreSQL, which needs no transaction around it; several in one on SQLite.

What few steps change beside their own rows are their consequences, written by further statements in one transaction
with them: claimable work, postponed events, names, incidents.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from processes.workflows.engine.suspension import SUSPENDED
from processes.workflows.heads import PACKAGE, Head
from processes.workflows.models import (
    SearchTerm,
    StepVisits,
    TaskCandidate,
    WorkflowBody,
    WorkflowEffect,
    WorkflowInstance,
    WorkflowSubscription,
    WorkflowTimer,
    WorkflowVersion,
    WorkItem,
)
from processes.workflows.services.incidents import close_overtaken_incidents, derive_about
from processes.workflows.services.moved_work import rename_open_work
from processes.workflows.services.shadow.inputs import write_input
from processes.workflows.services.steps import CommandRequest, NewInstance, Step
from processes.workflows.services.suspension import (
    find_suspended_items,
    release_postponed_events,
    update_claimable_work,
)
from processes.workflows.services.work_names import EFFECTS, JOBS, NOTICES, TIMERS

# The optional parts of the statement, by the parameter without which a part is left out.
PARTS = {
    "body": "bodies",
    "item_closed": "items_closed",
    "item_opened": "items",
    "item_toggled": "items_toggled",
    "candidate_gone": "candidates_gone",
    "candidate": "candidates",
    "timer_gone": "timers_gone",
    "timer": "timers",
    "subscription_gone": "subscriptions_gone",
    "subscription": "subscriptions",
    "term_gone": "terms_gone",
    "term": "terms",
    "effect": "effects",
    "event": "events",
    "visit": "visits",
    "heard": "heard",
}
# The columns of a new task, in the order of `open_items.sqlite.sql`.
OPENED = (
    *("local", "element", "name", "kind", "topic", "inputs", "since", "due_at", "detail", "assignee"),
    *("deadline_at", "follow_up_at", "priority", "notes", "search", "notice_at"),
)
_encoder = msgspec.json.Encoder()


def write_step(step: Step) -> str | None:
    """Write a step; return the instance's status, or None if its head or open incidents have changed meanwhile."""
    status = _write_postgresql(step) if connection.vendor == "postgresql" else _write_sqlite(step)
    if status is not None:
        _ring_workers(step)
    return status


def write_steps(steps: Sequence[Step]) -> list[str | None]:
    """Write steps of several instances in one transaction; return what `write_step` returns, in their order.

    PostgreSQL is sent one after the other without waiting for the answers.
    """
    if connection.vendor == "postgresql":
        statuses = _write_postgresql_pipelined(steps)
    else:
        statuses = [_write_sqlite(step) for step in steps]
    for step, status in zip(steps, statuses, strict=True):
        if status is not None:
            _ring_workers(step)
    return statuses


def _write_postgresql(step: Step) -> str | None:
    values = _build_values(step)
    with postgresql_cursor() as cursor:
        row = cursor.execute(_choose_statement(step, values), values, prepare=True).fetchone()
    return None if row is None else str(row[0])


def _write_postgresql_pipelined(steps: Sequence[Step]) -> list[str | None]:
    by_statement: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for place, step in enumerate(steps):
        values = _build_values(step)
        by_statement.setdefault(_choose_statement(step, values), []).append((place, values))
    found: dict[int, str | None] = {}
    with postgresql_cursor() as cursor:
        for statement, group in by_statement.items():
            # `executemany` uses the pipeline mode of libpq, and a prepared statement.
            cursor.executemany(statement, [values for _, values in group], returning=True)
            for place, _ in group:
                row = cursor.fetchone()
                found[place] = None if row is None else str(row[0])
                cursor.nextset()
    return [found[place] for place in range(len(steps))]


def _choose_statement(step: Step, values: dict[str, Any]) -> str:
    empty = frozenset(part for part, name in PARTS.items() if values[name] in ("[]", "{}"))
    return _statement("move_head" if step.new_instance is None else "start_instance", empty)


def _build_values(step: Step) -> dict[str, Any]:
    open_work = step.open_work
    return {
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
        "candidates": _json(open_work.candidates),
        "candidates_gone": _json(open_work.candidates_gone),
        "timers": _json(open_work.timers),
        "timers_gone": _json(open_work.timers_gone),
        "subscriptions": _json(open_work.subscriptions),
        "subscriptions_gone": _json(open_work.subscriptions_gone),
        "terms": _json(open_work.terms),
        "terms_gone": _json(open_work.terms_gone),
        "effects": _json(step.effects),
        "events": encode_events(step.events) if step.events else "[]",
        "visits": _json(step.visits),
        "shadow": step.shadow,
        "heard": step.heard or "[]",
        **(step.new_instance or {}),
    }


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
        if step.visits:
            StepVisits.objects.create(at=step.at, visits=_json(step.visits))
        if step.shadow is not None and step.heard:
            write_input(step.shadow, step.instance_id, step.number, step.heard)
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
        shadow=step.shadow,
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
    opened = itemgetter(*OPENED)
    bulk_execute(
        PACKAGE, "open_items", [(instance, *opened(item), step.number, step.correlation_id) for item in changes.items]
    )
    _write_candidates(step)
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
    if changes.terms_gone:
        SearchTerm.objects.filter(instance=step.instance_id, term__in=in_array(changes.terms_gone)).delete()
    if changes.terms:
        fresh = [SearchTerm(instance_id=step.instance_id, term=term) for term in changes.terms]
        SearchTerm.objects.bulk_create(fresh, ignore_conflicts=True)


def _write_candidates(step: Step) -> None:
    changes = step.open_work
    items = WorkItem.objects.filter(instance=step.instance_id)
    if changes.candidates_gone:
        gone = items.filter(local__in=in_array(changes.candidates_gone)).values("pk")
        TaskCandidate.objects.filter(item__in=gone).delete()
    if changes.candidates:
        ids = dict(
            items.filter(local__in=in_array({each["local"] for each in changes.candidates})).values_list("local", "pk")
        )
        columns = itemgetter("kind", "name", "is_waiting", "deadline_at", "priority")
        names = ("kind", "name", "is_waiting", "deadline_at", "priority")
        TaskCandidate.objects.bulk_create(
            TaskCandidate(item_id=ids[each["local"]], **dict(zip(names, columns(each), strict=True)))
            for each in changes.candidates
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
    if any(item["notice_at"] is not None and item["assignee"] for item in step.open_work.items):
        ring(NOTICES)
    if step.open_work.timers:
        ring(TIMERS)


@dataclass(frozen=True)
class Consequences:
    is_toggled: bool
    """The instance is suspended or resumed, or ends while it is suspended."""
    items_resumed: bool
    is_moved: bool
    """To another revision."""
    has_incidents: bool

    def __bool__(self) -> bool:
        return self.is_toggled or self.items_resumed or self.is_moved or self.has_incidents


def find_consequences(head: Head, request: CommandRequest, step: Step, state: Mapping[str, Any]) -> Consequences:
    is_toggled = (head.state_status == SUSPENDED) != (step.status == SUSPENDED)
    before = head.state or {}
    items_resumed = False
    if not is_toggled and "items" in before:  # of cases alone: a process is suspended as a whole
        items_resumed = bool(find_suspended_items(before) - find_suspended_items(state))
    return Consequences(is_toggled, items_resumed, request.revision_id is not None, bool(head.open_incidents))


def apply_consequences(
    found: Consequences, head: Head, request: CommandRequest, step: Step, state: Mapping[str, Any]
) -> str | None:
    """Write the consequences of a step that has been written; return the instance's status where they change it."""
    if found.is_toggled:
        update_claimable_work(head.id, state)
    if found.items_resumed:
        release_postponed_events(head.id)
    if found.is_moved:
        rename_open_work(head.id, state, f"{head.record}\n{head.definition}")
    if found.has_incidents:
        return close_overtaken_incidents(head, step, about=derive_about(request))
    return None
