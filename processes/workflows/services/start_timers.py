"""Timers that begin instances: those of the newest revision of each definition."""

from collections.abc import Iterator
from datetime import datetime, timedelta

import structlog
from django.db import IntegrityError, transaction
from django.utils import timezone

from config.common.background.ring import ring
from config.common.database.leases import LeaseLost, claim, finish
from processes.workflows.engine.definition import (
    Definition,
    Node,
    NodeKind,
    TimerDefinition,
    TimerKind,
    Trigger,
)
from processes.workflows.engine.expressions import ExpressionFailed
from processes.workflows.engine.iso import NotIso, parse_cycle, parse_datetime, parse_duration
from processes.workflows.models import WorkflowInstance, WorkflowRevision, WorkflowStartTimer
from processes.workflows.services.start import StartRequest, start_instance
from processes.workflows.services.work_names import STARTS

BATCH = 20
LEASE = timedelta(seconds=30)
ACTOR = "timer"

log = structlog.get_logger(__name__)


def replace_start_timers(revision: WorkflowRevision, definition: Definition, *, at: datetime) -> None:
    """Put the timers of a new revision in the place of those of the one before. The definition is locked."""
    WorkflowStartTimer.objects.filter(revision__definition=revision.definition_id).delete()
    WorkflowStartTimer.objects.bulk_create(_timers(revision, definition, at=at))
    ring(STARTS)


def start_due_instances() -> bool:
    """Begin the instances whose time has come; return whether there may be more."""
    claimed = claim(WorkflowStartTimer.objects.all(), limit=BATCH, lease=LEASE)
    for timer in claimed:
        _start(timer)
    return len(claimed) == BATCH


def _timers(revision: WorkflowRevision, definition: Definition, *, at: datetime) -> Iterator[WorkflowStartTimer]:
    for node in definition.nodes.values():
        if node.kind == NodeKind.START and definition.scopes[node.scope].parent is None:
            timer = _timer(revision, node, at=at)
            if timer is not None:
                yield timer


def _timer(revision: WorkflowRevision, node: Node, *, at: datetime) -> WorkflowStartTimer | None:
    """Make the timer of a start event; a moment that has passed begins nothing any more."""
    event = node.event
    if event is None or event.trigger != Trigger.TIMER or event.timer is None:
        return None
    try:
        due, left, interval = _first(event.timer, at)
    except (NotIso, ExpressionFailed) as error:
        log.warning("workflows.start_timer_unreadable", revision=str(revision), element=node.id, error=str(error))
        return None
    if due <= at and not interval:
        return None
    if due <= at:
        due = _following(due, interval, at)
    return WorkflowStartTimer(
        revision=revision, element=node.id[:200], due_at=due, next_at=due, left=left, interval=interval
    )


def _first(timer: TimerDefinition, at: datetime) -> tuple[datetime, int | None, str]:
    """Read when a timer fires first, how often then, and in which rhythm."""
    value = timer.literal if timer.expression is None else timer.expression.evaluate({})
    # A number is seconds, as everywhere.
    text = f"PT{value}S" if isinstance(value, int | float) and not isinstance(value, bool) else value
    if not isinstance(text, str):
        raise NotIso("The timer says no time.")
    if timer.kind == TimerKind.DATE:
        return parse_datetime(text), 1, ""
    if timer.kind == TimerKind.DURATION:
        return parse_duration(text).after(at), 1, ""
    cycle = parse_cycle(text)
    return cycle.first(at), cycle.count, cycle.text


def _following(due: datetime, interval: str, at: datetime) -> datetime:
    """Return the first moment of the rhythm that lies ahead: what was missed is not made up for."""
    duration = parse_duration(interval)
    if not duration.months and due < at:
        due += (at - due) // duration.rest * duration.rest
    while due <= at:
        due = duration.after(due)
    return due


def _start(timer: WorkflowStartTimer) -> None:
    """Begin an instance and set the timer to its next time, together: dying in between begins it once all the same."""
    at = timezone.now()
    key = f"timer:{timer.revision_id}:{timer.element}:{timer.next_at.isoformat()}"
    try:
        with transaction.atomic():
            _move_on(timer, at=at)
            _begin(timer, key, at=at)
    except LeaseLost:
        log.info("workflows.start_timer_overtaken", timer=timer.pk)
    except IntegrityError:
        if not WorkflowInstance.objects.filter(start_key=key).exists():
            raise
        _move_on(timer, at=at)


def _begin(timer: WorkflowStartTimer, key: str, *, at: datetime) -> None:
    revision = WorkflowRevision.objects.only("definition", "number").get(pk=timer.revision_id)
    wanted = StartRequest(
        revision.definition_id,
        revision=revision.number,
        start=timer.element,
        start_key=key,
        cause=f"timer {timer.element}",
    )
    start_instance(wanted, actor=ACTOR, at=at)


def _move_on(timer: WorkflowStartTimer, *, at: datetime) -> None:
    left = None if timer.left is None else timer.left - 1
    if left == 0 or not timer.interval:
        finish(timer, due_at=timer.due_at)
        WorkflowStartTimer.objects.filter(pk=timer.pk).delete()
        return
    due = _following(timer.next_at, timer.interval, at)
    finish(timer, due_at=due, next_at=due, left=left)
