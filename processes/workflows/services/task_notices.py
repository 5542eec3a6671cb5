"""Mails about tasks: to whom one has been assigned, and whose is overdue; each person chooses (`UserSettings`).

A task knows when there is something to tell (`notice_at`); it is claimed then by lease, and the mail is written with
what has been told under its fence: once, whoever dies. An assignment that comes between overtakes the claim.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import structlog
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models.functions import Now
from django.urls import reverse
from django.utils.translation import gettext_noop

from config.common.database.leases import LeaseLost, claim, finish
from config.common.database.sql import as_utc
from config.common.times import format_time
from config.records.models import UserSettings
from notifications.services.notices import enqueue_notice
from processes.workflows.models import TaskCandidate, WorkflowInstance, WorkItem
from processes.workflows.subjects import subject_of

LEASE = timedelta(seconds=60)
BATCH = 50
ASSIGNED, OVERDUE = "task.assigned", "task.overdue"
TITLES = {
    ASSIGNED: gettext_noop("Task for you: %(task)s"),
    OVERDUE: gettext_noop("Overdue task: %(task)s"),
}
CHOICES = {ASSIGNED: "mails_assigned", OVERDUE: "mails_overdue"}

log = structlog.get_logger(__name__)


def send_due_notices() -> bool:
    """Write the mails that are due; return whether there were any tasks to look at. An idle look costs one read."""
    waiting = WorkItem.objects.filter(status=WorkItem.Status.OPEN)
    if not waiting.filter(notice_at__lte=Now()).exists():
        return False
    claimed = claim(waiting, limit=BATCH, lease=LEASE, deadline="notice_at")
    for item in claimed:
        try:
            with transaction.atomic():
                _notify(item)
        except LeaseLost:
            log.info("task.notice_overtaken", task=item.pk)
    return bool(claimed)


def _notify(item: WorkItem) -> None:
    assert item.notice_at is not None
    now = as_utc(item.notice_at) - LEASE  # the database's time of the claim
    if item.assignee and item.noticed != item.assignee:
        # Where it is overdue already, that is told next.
        finish(item, noticed=item.assignee, notice_at=item.deadline)
        _send(item, ASSIGNED, [item.assignee])
    elif item.deadline is not None and item.deadline > now:
        finish(item, notice_at=item.deadline)
    else:
        finish(item, notice_at=None)
        if item.deadline is not None:
            # Those who are named themselves: a group is not written to.
            named = TaskCandidate.objects.filter(item=item.pk, kind=TaskCandidate.Kind.USER).order_by("name")
            _send(item, OVERDUE, [item.assignee] if item.assignee else list(named.values_list("name", flat=True)))


def _send(item: WorkItem, type: str, names: Iterable[str]) -> None:
    people = list(User.objects.filter(username__in=list(names), is_active=True).exclude(email="").order_by("pk"))
    if not people:
        return
    settings = UserSettings.objects.filter(user__in=people, **{CHOICES[type]: False})
    refusing = set(settings.values_list("user_id", flat=True))
    instance = WorkflowInstance.objects.select_related("definition").get(pk=item.instance_id)
    detail: dict[str, Any] = {"task": str(item), "workflow": str(instance.definition), "record": instance.record}
    if item.deadline is not None:
        detail["due"] = format_time(item.deadline)
    page = reverse("admin:workflows_workitem_change", args=[item.pk])
    for person in people:
        if person.pk not in refusing:
            enqueue_notice(
                person.email,
                type,
                subject_of(item.instance_id),
                TITLES[type],
                detail,
                page=page,
                settings_page=reverse("admin:workflows_workitem_mails"),
            )
