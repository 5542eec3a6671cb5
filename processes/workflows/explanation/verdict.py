"""Decide why an instance stands still, and why a task is not there: evidence in, one verdict out. No database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from processes.workflows.models import (
    WorkflowIncident,
    WorkflowInstance,
    WorkflowSubscription,
    WorkflowTimer,
    WorkflowVersion,
    WorkItem,
)
from processes.workflows.models.instance import ENDED, Status

Kind = WorkItem.Kind


class Verdict(StrEnum):
    """Stable words for machines; `words.py` has a sentence for each."""

    ENDED = "ended"
    INCIDENT = "incident"
    SUSPENDED = "suspended"
    PERSON = "waits_for_person"
    WORKER = "waits_for_worker"
    WORKING = "worker_has_it"
    RETRY = "waits_for_retry"
    DUE = "due_now"
    EVENT = "waits_for_event"
    TIMER = "waits_for_timer"
    START = "waits_for_start"
    UNEXPLAINED = "unexplained"


class TaskVerdict(StrEnum):
    """The same for a task."""

    OPEN = "open"
    DONE = "done"
    CANCELLED = "cancelled"
    ABANDONED = "abandoned"
    INCIDENT = "incident"
    SUSPENDED = "suspended"
    ENDED = "instance_ended"
    UNKNOWN = "no_such_element"
    NOT_REACHED = "not_reached"


@dataclass(frozen=True)
class Case:
    """All that a verdict about an instance is made of."""

    now: datetime
    instance: WorkflowInstance
    is_suspended: bool = False
    suspended_at: datetime | None = None
    incidents: Sequence[WorkflowIncident] = ()
    work: Sequence[WorkItem] = ()
    """Open tasks and jobs, the oldest first."""
    timers: Sequence[WorkflowTimer] = ()
    """The next one first."""
    subscriptions: Sequence[WorkflowSubscription] = ()
    enabled: Sequence[str] = ()
    """Plan items of a case that a person must start."""
    candidates: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Who may claim a task that nobody has, by the task."""


@dataclass(frozen=True)
class Decision:
    verdict: Verdict
    since: datetime | None = None
    until: datetime | None = None
    name: str = ""
    """The task, event, worker or element that it is about."""
    assignee: str = ""
    """Whose the task is."""
    candidates: str = ""
    """Who may claim it while it is nobody's."""


@dataclass(frozen=True)
class TaskCase:
    """All that a verdict about a task is made of."""

    instance: WorkflowInstance
    item: WorkItem | None = None
    """The newest of its element; None where none was ever opened."""
    closed_by: WorkflowVersion | None = None
    incident: WorkflowIncident | None = None
    is_suspended: bool = False
    is_known: bool = True
    """Whether the definition has such an element."""
    candidates: Sequence[str] = ()
    """Who may claim it."""


@dataclass(frozen=True)
class TaskDecision:
    verdict: TaskVerdict
    since: datetime | None = None


def decide(case: Case) -> Decision:
    """Return what an instance waits for; of several things the one that needs somebody."""
    instance = case.instance
    if case.incidents:
        first = case.incidents[0]
        return Decision(Verdict.INCIDENT, since=first.opened_at, name=first.element)
    if instance.status in ENDED:
        return Decision(Verdict.ENDED, since=instance.ended_at, name=instance.get_status_display())
    if case.is_suspended:
        return Decision(Verdict.SUSPENDED, since=case.suspended_at)
    next_timer = next((timer.due_at for timer in case.timers if timer.due_at is not None), None)
    for judge in (_judge_people, _judge_workers):
        found = judge(case, next_timer)
        if found is not None:
            return found
    if case.subscriptions:
        return Decision(Verdict.EVENT, until=next_timer, name=case.subscriptions[0].name)
    if next_timer is not None:
        is_due = next_timer <= case.now
        return Decision(Verdict.DUE if is_due else Verdict.TIMER, until=next_timer, name=case.timers[0].element)
    if case.enabled:
        return Decision(Verdict.START, name=case.enabled[0])
    return Decision(Verdict.UNEXPLAINED)


def _judge_people(case: Case, next_timer: datetime | None) -> Decision | None:
    for item in case.work:
        if item.kind not in WorkItem.FOR_PEOPLE:
            continue
        offered = ", ".join(case.candidates.get(item.pk, ()))
        return Decision(Verdict.PERSON, item.since, next_timer, str(item), item.assignee, offered)
    return None


def _judge_workers(case: Case, next_timer: datetime | None) -> Decision | None:
    for item in case.work:
        if item.kind not in WorkItem.CLAIMABLE:
            continue
        is_later = item.due_at is not None and item.due_at > case.now
        if is_later and item.worker:
            return Decision(Verdict.WORKING, since=item.since, until=item.due_at, name=item.worker)
        if is_later:
            return Decision(Verdict.RETRY, since=item.since, until=item.due_at, name=str(item))
        if item.kind == Kind.JOB:
            return Decision(Verdict.DUE, since=item.since, until=item.due_at, name=str(item))
        return Decision(Verdict.WORKER, since=item.since, name=item.topic)
    return None


_CLOSED = {
    WorkItem.Status.DONE: TaskVerdict.DONE,
    WorkItem.Status.CANCELLED: TaskVerdict.CANCELLED,
    WorkItem.Status.ABANDONED: TaskVerdict.ABANDONED,
}


def decide_task(case: TaskCase) -> TaskDecision:
    """Return why a task is not there, or that it is."""
    item = case.item
    if item is None:
        if not case.is_known:
            return TaskDecision(TaskVerdict.UNKNOWN)
        if case.instance.status in ENDED:
            return TaskDecision(TaskVerdict.ENDED, since=case.instance.ended_at)
        return TaskDecision(TaskVerdict.NOT_REACHED)
    if item.status != WorkItem.Status.OPEN:
        since = None if case.closed_by is None else case.closed_by.at
        return TaskDecision(_CLOSED[WorkItem.Status(item.status)], since=since)
    if case.incident is not None:
        return TaskDecision(TaskVerdict.INCIDENT, since=case.incident.opened_at)
    if case.is_suspended or case.instance.status == Status.SUSPENDED:
        return TaskDecision(TaskVerdict.SUSPENDED)
    return TaskDecision(TaskVerdict.OPEN, since=item.since)
