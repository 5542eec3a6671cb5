"""Whose a task is and by when: claimed, given back, delegated, scheduled.

That is about people, not a state of the instance: no version is written, and a return opens the task anew as the file
has it. Each change is made under the lock of the task's row and is a line of the change log.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from config.access.scopes import Scope
from config.audit.changes import Tracked, record_change, refuse_revert, track
from config.common.background.ring import ring
from config.common.errors import Invalid, NotPermitted
from config.common.times import format_time
from config.records.models import ChangeRecord
from processes.workflows.errors import Abandoned, NotPossible, TaskNotFound, TaskTaken
from processes.workflows.ids import find_instance_id, local_id, matches_opened_at
from processes.workflows.models import TaskCandidate, WorkItem
from processes.workflows.models.open_work import NO_DEADLINE
from processes.workflows.services.work_names import NOTICES
from processes.workflows.task_rights import Person, TaskRights, assignable_people, rights_over

KIND = "task"
FIELDS = ("assignee", "owner", "deadline_at", "follow_up_at", "priority", "notice_at", "noticed")

track(
    Tracked(
        kind=KIND,
        fields=(),
        find=lambda object_id: None,
        restore=refuse_revert,
        page="admin:workflows_workitem_change",
        scope=Scope.WORKFLOWS_WRITE,
    )
)


class _Unchanged(Enum):
    UNCHANGED = "unchanged"


UNCHANGED = _Unchanged.UNCHANGED


@dataclass(frozen=True)
class Schedule:
    """What is to be set of a task; None of `due_at` and `follow_up_at`: at no time."""

    due_at: datetime | _Unchanged | None = UNCHANGED
    follow_up_at: datetime | _Unchanged | None = UNCHANGED
    priority: int | _Unchanged = UNCHANGED


def find_task(task: str) -> WorkItem:
    """Return the task of people that a public id names."""
    instance_id = find_instance_id(task)
    item = None
    if instance_id is not None:
        rows = WorkItem.objects.filter(instance=instance_id, local=local_id(instance_id, task)[:30])
        item = rows.filter(kind__in=WorkItem.FOR_PEOPLE).defer("inputs").select_related("instance").first()
    if item is None:
        raise TaskNotFound
    if not matches_opened_at(task, item.since):
        raise Abandoned
    return item


def claim_task(pk: int, person: Person, *, actor: str, name: str = "") -> WorkItem:
    """Make a task the person's own, or that of `name`; whoever comes second is told who has it."""
    assignee = name or person.name
    with _changed(pk, actor) as item:
        if item.assignee and item.assignee == assignee:
            return item  # said twice
        if item.assignee:
            raise TaskTaken(assignee=item.assignee)
        rights = _rights(item, person)
        if not (rights.claim if assignee == person.name else rights.assign):
            raise NotPermitted
        _check_name(assignee)
        _give(item, assignee, is_told=assignee == person.name)
    return item


def release_task(pk: int, person: Person, *, actor: str) -> WorkItem:
    """Give a task back: to whoever delegated it, else to its candidates."""
    with _changed(pk, actor) as item:
        if not item.assignee:
            return item
        if not _rights(item, person).release:
            raise NotPermitted
        _give(item, item.owner, is_told=False)
        item.owner = ""
    return item


def assign_task(pk: int, person: Person, assignee: str, *, actor: str) -> WorkItem:
    """Give a task to somebody else. An assignee who does so stays its owner: given back, it is theirs again."""
    with _changed(pk, actor) as item:
        if not _rights(item, person).assign:
            raise NotPermitted
        _check_name(assignee)
        if item.assignee == assignee:
            return item
        is_delegated = bool(person.name) and item.assignee == person.name
        item.owner = (item.owner or person.name) if is_delegated and assignee != item.owner else ""
        _give(item, assignee, is_told=assignee == person.name)
    return item


def schedule_task(pk: int, person: Person, schedule: Schedule, *, actor: str) -> WorkItem:
    """Set when a task is due, when it is to be followed up, and its priority."""
    with _changed(pk, actor) as item:
        if not _rights(item, person).schedule:
            raise NotPermitted
        if schedule.due_at is not UNCHANGED:
            item.deadline_at = schedule.due_at or NO_DEADLINE
        if schedule.follow_up_at is not UNCHANGED:
            item.follow_up_at = schedule.follow_up_at
        if schedule.priority is not UNCHANGED:
            item.priority = schedule.priority
        if item.noticed == item.assignee:  # else its assignee is to be told first
            item.notice_at = item.deadline
    return item


@contextmanager
def _changed(pk: int, actor: str) -> Iterator[WorkItem]:
    """Lock an open task; write what the caller has changed of it, with its candidates and a line of the log."""
    with transaction.atomic():
        rows = WorkItem.objects.select_for_update(no_key=True, of=("self",)).select_related("instance")
        item = rows.filter(pk=pk, kind__in=WorkItem.FOR_PEOPLE).defer("inputs").first()
        if item is None:
            raise TaskNotFound
        if item.status == WorkItem.Status.ABANDONED:
            raise Abandoned
        if item.status != WorkItem.Status.OPEN:
            raise NotPossible(reason="The task is not open any more.")
        before, was = _show(item), _values(item)
        yield item
        if _values(item) == was:
            return
        item.fence += 1  # overtakes whoever is about to tell the one who had it
        item.save(update_fields=[*FIELDS, "fence"])
        TaskCandidate.objects.filter(item=item).update(
            is_waiting=not item.assignee, deadline_at=item.deadline_at, priority=item.priority
        )
        after = _show(item)
        if after != before:
            record_change(
                kind=KIND,
                object_id=str(item.pk),
                action=ChangeRecord.Action.CHANGED,
                before=before,
                after=after,
                actor=actor,
            )
        if item.notice_at is not None:
            ring(NOTICES)


def _give(item: WorkItem, assignee: str, *, is_told: bool) -> None:
    """Set the assignee, and when there is something to tell them: now, unless they did it themselves."""
    item.assignee = assignee
    item.noticed = assignee if is_told else ""
    item.notice_at = item.deadline
    if assignee and not is_told:
        item.notice_at = item.since  # long past: at once


def _rights(item: WorkItem, person: Person) -> TaskRights:
    return rights_over(item, person, list(item.candidates.all()))


def _check_name(assignee: str) -> None:
    if not assignable_people().filter(username=assignee).exists():
        raise Invalid({"assignee": [gettext("There is no active account of this name.")]})


def _values(item: WorkItem) -> tuple[Any, ...]:
    return tuple(getattr(item, name) for name in FIELDS)


def _show(item: WorkItem) -> dict[str, Any]:
    return {
        "task": str(item),
        "assignee": item.assignee,
        "owner": item.owner,
        "due_at": item.deadline and format_time(item.deadline),
        "follow_up_at": item.follow_up_at and format_time(item.follow_up_at),
        "priority": item.priority,
    }
