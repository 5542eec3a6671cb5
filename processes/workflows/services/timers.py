"""Fire due timers: those that an instance waits for, and those of start events, which start instances."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from config.common.background.ring import ring
from config.common.correlation import correlated
from config.common.database.leases import LeaseLost, claim, finish
from processes.workflows.engine.definition import (
    Definition,
    Node,
    NodeKind,
    TimerDefinition,
    TimerKind,
    Trigger,
)
from processes.workflows.engine.execution.triggers import find_next_time
from processes.workflows.engine.expressions import ExpressionFailed
from processes.workflows.engine.iso import NotIso, parse_cycle, parse_datetime, parse_duration, parse_interval
from processes.workflows.errors import InstanceNotFound, NotPossible
from processes.workflows.heads import find_head
from processes.workflows.models import (
    WorkflowInstance,
    WorkflowRevision,
    WorkflowStartTimer,
    WorkflowTimer,
    WorkflowVersion,
)
from processes.workflows.services.commands import execute_command
from processes.workflows.services.start import StartRequest, start_instance
from processes.workflows.services.steps import CommandRequest
from processes.workflows.services.work_names import STARTS
from processes.workflows.state_storage import section

BATCH = 50
START_BATCH = 20
LEASE = timedelta(seconds=30)
ACTOR = "timer"

log = structlog.get_logger(__name__)


def fire_due_timers() -> bool:
    """Fire the timers of instances that are due, the longest due first; return whether there may be more."""
    claimed = claim(WorkflowTimer.objects.all(), limit=BATCH, lease=LEASE)
    chains = _find_chains(claimed)
    for timer in claimed:
        with correlated(chains.get(timer.instance_id)):
            _fire(timer)
    return len(claimed) == BATCH


def _find_chains(timers: Sequence[WorkflowTimer]) -> dict[UUID, str]:
    """Return the correlation ids of the heads that wait: what a timer causes belongs to what set it."""
    if not timers:
        return {}
    heads = WorkflowVersion.objects.filter(
        instance__in={timer.instance_id for timer in timers}, number=F("instance__head")
    )
    return dict(heads.values_list("instance_id", "correlation_id"))


def _fire(timer: WorkflowTimer) -> None:
    # A timer that has fired is gone from the state: a second worker, after the lease, finds nothing to fire.
    command = {"command": "fire_timer", "timer": timer.local}
    try:
        execute_command(timer.instance_id, CommandRequest(command, actor=ACTOR, at=timezone.now()))
    except (NotPossible, InstanceNotFound):
        _reconcile(timer)
    except Exception:
        # A fault in one instance must not keep the timers of the others: this one is tried again after its lease.
        log.exception("workflows.timer_failed", instance=str(timer.instance_id), timer=timer.local)


def _reconcile(timer: WorkflowTimer) -> None:
    """Make the row agree with the state: delete a timer that has ended, withhold one that is suspended."""
    head = find_head(timer.instance_id)
    rows = WorkflowTimer.objects.filter(pk=timer.pk, fence=timer.fence)
    if head is None or timer.local not in section(head.state or {}, "timers"):
        rows.delete()
    else:
        rows.update(due_at=None, fence=F("fence") + 1)


def start_due_instances() -> bool:
    """Start the instances whose start timers are due; return whether there may be more."""
    claimed = claim(WorkflowStartTimer.objects.all(), limit=START_BATCH, lease=LEASE)
    for timer in claimed:
        _start(timer)
    return len(claimed) == START_BATCH


def _start(timer: WorkflowStartTimer) -> None:
    at = timezone.now()
    key = f"timer:{timer.revision_id}:{timer.element}:{timer.next_at.isoformat()}"
    try:
        # Together: a process that dies in between has neither started the instance nor moved the timer.
        with transaction.atomic():
            _set_next(timer, at=at)
            _start_by_timer(timer, key, at=at)
    except LeaseLost:
        log.info("workflows.start_timer_overtaken", timer=timer.pk)
    except IntegrityError:
        if not WorkflowInstance.objects.filter(start_key=key).exists():
            raise
        _set_next(timer, at=at)


def _set_next(timer: WorkflowStartTimer, *, at: datetime) -> None:
    """Set a start timer to its next time, or delete it after the last; raise `LeaseLost` where it was overtaken."""
    left = None if timer.left is None else timer.left - 1
    if left == 0 or not timer.interval:
        finish(timer, due_at=timer.due_at)
        WorkflowStartTimer.objects.filter(pk=timer.pk).delete()
        return
    due = _next_time(timer.next_at, timer.interval, at)
    finish(timer, due_at=due, next_at=due, left=left)


def _start_by_timer(timer: WorkflowStartTimer, key: str, *, at: datetime) -> None:
    revision = WorkflowRevision.objects.only("definition", "number").get(pk=timer.revision_id)
    start = StartRequest(
        revision.definition_id,
        revision=revision.number,
        start=timer.element,
        start_key=key,
        cause=f"timer {timer.element}",
    )
    start_instance(start, actor=ACTOR, at=at)


def replace_start_timers(revision: WorkflowRevision, definition: Definition, *, at: datetime) -> None:
    """Replace the start timers of a definition, which is locked, by those of its new revision."""
    WorkflowStartTimer.objects.filter(revision__definition=revision.definition_id).delete()
    WorkflowStartTimer.objects.bulk_create(_build_start_timers(revision, definition, at=at))
    ring(STARTS)


def _build_start_timers(
    revision: WorkflowRevision, definition: Definition, *, at: datetime
) -> Iterator[WorkflowStartTimer]:
    for node in definition.nodes.values():
        if node.kind == NodeKind.START and definition.scopes[node.scope].parent is None:
            timer = _build_start_timer(revision, node, at=at)
            if timer is not None:
                yield timer


def _build_start_timer(revision: WorkflowRevision, node: Node, *, at: datetime) -> WorkflowStartTimer | None:
    """Build the timer of a start event; None for other events, and for a single time that has passed."""
    event = node.event
    if event is None or event.trigger != Trigger.TIMER or event.timer is None:
        return None
    try:
        due, left, interval = _read_timer(event.timer, at)
    except (NotIso, ExpressionFailed) as error:
        log.warning("workflows.start_timer_unreadable", revision=str(revision), element=node.id, error=str(error))
        return None
    if due <= at and not interval:
        return None
    if due <= at:
        due = _next_time(due, interval, at)
    return WorkflowStartTimer(
        revision=revision, element=node.id[:200], due_at=due, next_at=due, left=left, interval=interval
    )


def _read_timer(timer: TimerDefinition, at: datetime) -> tuple[datetime, int | None, str]:
    """Return when a timer fires first, how often in all (None: for ever), and its interval."""
    value = timer.literal if timer.expression is None else timer.expression.evaluate({})
    # A number means seconds, as in every other timer.
    text = f"PT{value}S" if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        raise NotIso("The timer says no time.")
    if timer.kind == TimerKind.DATE:
        return parse_datetime(text), 1, ""
    if timer.kind == TimerKind.DURATION:
        return parse_duration(text).after(at), 1, ""
    cycle = parse_cycle(text)
    return cycle.first(at), cycle.count, cycle.text


def _next_time(due: datetime, interval: str, at: datetime) -> datetime:
    """Return the first time of the cycle after `at`: missed times are not made up for."""
    return due if due > at else find_next_time(due, parse_interval(interval), at)
