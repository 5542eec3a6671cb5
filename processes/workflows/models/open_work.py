"""Open work: tasks, timers and subscriptions of instances, as rows that can be found; the state is the truth."""

from datetime import UTC, datetime

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from processes.workflows.ids import public_task_id
from processes.workflows.models.instance import WorkflowInstance

NO_DEADLINE = datetime(9999, 12, 31, tzinfo=UTC)
"""Of tasks that are due at no time: they are sorted behind all others, by the same index on either database."""
DEFAULT_PRIORITY = 50
"""As other engines have it."""


class WorkItem(models.Model):
    """A task of an instance, open or past.

    `due_at` is when an external task or a job may be claimed: now, at the end of a lock, or after a delay. Without it
    nobody may claim it: it needs a person, has an open incident, or its instance is suspended.

    Whose a task for people is, its deadline and its priority begin as the file says (the state keeps that) and are
    changed here alone: that is about people, and no new state of the instance.
    """

    class Kind(models.TextChoices):
        USER = "user", pgettext_lazy("work item", "user")
        MANUAL = "manual", pgettext_lazy("work item", "manual")
        RECEIVE = "receive", pgettext_lazy("work item", "receive")
        EXTERNAL = "external", pgettext_lazy("work item", "external")
        JOB = "job", pgettext_lazy("work item", "job")

    class Status(models.TextChoices):
        OPEN = "open", pgettext_lazy("work item", "open")
        DONE = "done", pgettext_lazy("work item", "done")
        CANCELLED = "cancelled", pgettext_lazy("work item", "cancelled")
        ABANDONED = "abandoned", pgettext_lazy("work item", "cancelled by a return")

    FOR_PEOPLE = (Kind.USER, Kind.MANUAL)
    CLAIMABLE = (Kind.EXTERNAL, Kind.JOB)
    """Kinds that workers claim; the others wait for a person or an event."""

    instance = models.ForeignKey(
        WorkflowInstance,
        verbose_name=_("instance"),
        on_delete=models.CASCADE,
        related_name="work_items",
        db_index=False,
    )
    local = models.CharField(_("id"), max_length=30)
    element = models.CharField(_("element"), max_length=200)
    name = models.CharField(_("name"), max_length=200, blank=True)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices)
    status = models.CharField(_("status"), max_length=9, choices=Status.choices, default=Status.OPEN)
    topic = models.CharField(_("topic"), max_length=200, blank=True)
    """Of an external task; of a job the name of its handler."""
    inputs = models.TextField(_("inputs"), blank=True)
    since = models.DateTimeField(_("since"))
    opened_by = models.PositiveIntegerField(_("opened by version"))
    closed_by = models.PositiveIntegerField(_("closed by version"), null=True)
    due_at = models.DateTimeField(_("due"), null=True)
    fence = models.BigIntegerField(default=0)
    worker = models.CharField(_("worker"), max_length=160, blank=True)
    retries = models.PositiveIntegerField(_("attempts left"), null=True)
    """Nothing: nobody has failed yet."""
    last_error = models.TextField(_("last error"), blank=True)
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)
    detail = models.CharField(_("detail"), max_length=100, blank=True, default="")
    """Which round of a loop it is, in words."""
    assignee = models.CharField(_("assignee"), max_length=150, blank=True, default="")
    """A user name, as the file or a person gave it: nobody need have it."""
    owner = models.CharField(_("owner"), max_length=150, blank=True, default="")
    """Who has delegated it: to them it goes back."""
    deadline_at = models.DateTimeField(_("due"), default=NO_DEADLINE)
    follow_up_at = models.DateTimeField(_("follow up"), null=True)
    priority = models.SmallIntegerField(_("priority"), default=DEFAULT_PRIORITY)
    notes = models.TextField(_("notes"), max_length=2000, blank=True, default="")
    """What of the file could not be evaluated when it opened, line by line."""
    search = models.TextField(max_length=1000, blank=True, default="")
    """What a person may look for: names, the record, short variables as they were when it opened."""
    notice_at = models.DateTimeField(null=True)
    """When its assignee is to be told something by mail: that it is theirs, or that it is overdue."""
    noticed = models.CharField(max_length=150, blank=True, default="")
    """Who knows that it is theirs."""

    class Meta:
        db_table = "workflows_work_item"
        verbose_name = _("task")
        verbose_name_plural = _("tasks")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(name="work_item_once", fields=["instance", "local"]),
            models.CheckConstraint(
                name="work_item_due_only_while_open", condition=Q(due_at__isnull=True) | Q(status="open")
            ),
            models.CheckConstraint(
                name="work_item_closed_by_a_version",
                condition=Q(status="open", closed_by__isnull=True) | (~Q(status="open") & Q(closed_by__isnull=False)),
            ),
        ]
        indexes = [
            # The inbox of staff, and the list of open tasks.
            models.Index(name="work_item_open", fields=["kind", "id"], condition=Q(status="open")),
            models.Index(name="work_item_all_open", fields=["id"], condition=Q(status="open")),
            # Workers claim the external tasks of a topic, and the product's own workers the jobs.
            models.Index(
                name="work_item_external",
                fields=["topic", "due_at", "id"],
                condition=Q(kind="external", due_at__isnull=False),
            ),
            # The inbox, by deadline and priority: all tasks of people, and those of one person.
            models.Index(
                name="work_item_inbox",
                fields=["deadline_at", "-priority", "id"],
                condition=Q(status="open", kind__in=["user", "manual"]),
            ),
            models.Index(
                name="work_item_assignee",
                fields=["assignee", "deadline_at", "-priority", "id"],
                condition=Q(status="open") & ~Q(assignee=""),
            ),
            # Notices are claimed when due.
            models.Index(
                name="work_item_notice", fields=["notice_at"], condition=Q(status="open", notice_at__isnull=False)
            ),
            models.Index(name="work_item_job", fields=["due_at", "id"], condition=Q(kind="job", due_at__isnull=False)),
        ]

    def __str__(self) -> str:
        name = self.name or self.element
        return f"{name} · {self.detail}" if self.detail else name

    @property
    def deadline(self) -> datetime | None:
        return None if self.deadline_at >= NO_DEADLINE else self.deadline_at

    @property
    def public_id(self) -> str:
        return public_task_id(self.instance_id, self.local, self.since)


class TaskCandidate(models.Model):
    """A user or a group whose members may claim an open task; gone when the task is closed.

    Deadline and priority are the task's: so one index has the inbox of a group in its order.
    """

    class Kind(models.TextChoices):
        USER = "user", _("user")
        GROUP = "group", _("group")

    item = models.ForeignKey(WorkItem, on_delete=models.CASCADE, related_name="candidates", db_index=False)
    kind = models.CharField(_("kind"), max_length=5, choices=Kind.choices)
    name = models.CharField(_("name"), max_length=150)
    is_waiting = models.BooleanField(default=True)
    """Nobody has the task."""
    deadline_at = models.DateTimeField(default=NO_DEADLINE)
    priority = models.SmallIntegerField(default=DEFAULT_PRIORITY)

    class Meta:
        db_table = "workflows_candidate"
        verbose_name = _("candidate")
        verbose_name_plural = _("candidates")
        default_permissions = ()
        constraints = [models.UniqueConstraint(name="candidate_once", fields=["item", "kind", "name"])]
        # The inbox of a group and of a candidate.
        indexes = [
            models.Index(
                name="candidate_waiting",
                fields=["kind", "name", "deadline_at", "-priority", "item"],
                condition=Q(is_waiting=True),
            )
        ]

    def __str__(self) -> str:
        return self.name


class WorkflowTimer(models.Model):
    """A timer of an instance. Without `due_at` it waits: for a retry of its incident, or for a resume."""

    instance = models.ForeignKey(
        WorkflowInstance, verbose_name=_("instance"), on_delete=models.CASCADE, related_name="timers", db_index=False
    )
    local = models.CharField(_("id"), max_length=30)
    element = models.CharField(_("element"), max_length=200)
    due_at = models.DateTimeField(_("due"), null=True)
    fence = models.BigIntegerField(default=0)

    class Meta:
        db_table = "workflows_timer"
        verbose_name = _("timer")
        verbose_name_plural = _("timers")
        constraints = [models.UniqueConstraint(name="timer_once", fields=["instance", "local"])]
        # Timers are claimed when due.
        indexes = [models.Index(name="timer_due", fields=["due_at"], condition=Q(due_at__isnull=False))]

    def __str__(self) -> str:
        return self.element


class WorkflowSubscription(models.Model):
    """A place where an instance waits for an event."""

    class Kind(models.TextChoices):
        MESSAGE = "message", pgettext_lazy("workflow", "message")
        SIGNAL = "signal", pgettext_lazy("workflow", "signal")

    instance = models.ForeignKey(
        WorkflowInstance,
        verbose_name=_("instance"),
        on_delete=models.CASCADE,
        related_name="subscriptions",
        db_index=False,
    )
    local = models.CharField(_("id"), max_length=30)
    element = models.CharField(_("element"), max_length=200)
    definition = models.CharField(max_length=200)
    """Whose element it is, with `revision`: of a called definition, its own."""
    revision = models.PositiveIntegerField()
    kind = models.CharField(_("kind"), max_length=7, choices=Kind.choices)
    name = models.CharField(_("event"), max_length=200)
    record = models.CharField(_("record"), max_length=200, blank=True)
    after_position = models.BigIntegerField(default=0)
    """The event that led here: neither it nor an earlier one is taken here when events are handed over again."""

    class Meta:
        db_table = "workflows_subscription"
        verbose_name = _("subscription")
        verbose_name_plural = _("subscriptions")
        constraints = [models.UniqueConstraint(name="subscription_once", fields=["instance", "local"])]
        indexes = [
            # An event finds who waits for its name with its record.
            models.Index(name="subscription_record", fields=["name", "record"]),
            # It finds who waits at an element with a correlation of its own, by the value that this gives.
            models.Index(name="subscription_element", fields=["definition", "revision", "element", "record"]),
        ]

    def __str__(self) -> str:
        return f"{self.name}: {self.element}"
