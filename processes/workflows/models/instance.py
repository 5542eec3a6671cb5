from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from processes.workflows.ids import new_instance_id
from processes.workflows.models.definition import WorkflowDefinition, WorkflowRevision

ENDED = ["completed", "terminated", "closed"]


class Status(models.TextChoices):
    ACTIVE = "active", pgettext_lazy("workflow", "active")
    COMPLETED = "completed", pgettext_lazy("workflow", "completed")
    TERMINATED = "terminated", pgettext_lazy("workflow", "terminated")
    INCIDENT = "incident", pgettext_lazy("workflow", "incident")
    SUSPENDED = "suspended", pgettext_lazy("workflow", "suspended")
    CLOSED = "closed", pgettext_lazy("workflow", "closed")


class WorkflowInstance(models.Model):
    """One run of a definition: it points to its newest version, the head, which moves by compare-and-set alone.

    `status` is that of the head, or `incident` while an incident is open.
    """

    id = models.UUIDField(_("id"), primary_key=True, default=new_instance_id, editable=False)
    definition = models.ForeignKey(
        WorkflowDefinition, verbose_name=_("definition"), on_delete=models.PROTECT, related_name="+", db_index=False
    )
    revision = models.ForeignKey(
        WorkflowRevision, verbose_name=_("revision"), on_delete=models.PROTECT, related_name="+", db_index=False
    )
    record = models.CharField(_("record"), max_length=200, blank=True)
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.ACTIVE)
    head = models.PositiveIntegerField(_("version"), default=0)
    epoch = models.PositiveIntegerField(_("returns"), default=0)
    """Raised by every return: ids of tasks and timers from before it have an earlier epoch."""
    open_incidents = models.PositiveIntegerField(_("open incidents"), default=0)
    started_at = models.DateTimeField(_("started"))
    ended_at = models.DateTimeField(pgettext_lazy("workflow", "ended"), null=True)
    start_key = models.CharField(max_length=300, null=True, unique=True, editable=False)
    """The event, time or form that started it, with the element: each starts one instance only."""
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)
    shadow = models.BigIntegerField(null=True, editable=False)
    """The shadow that hears what this instance is given: set when it starts. It may have ended since."""

    class Meta:
        db_table = "workflows_instance"
        verbose_name = _("workflow instance")
        verbose_name_plural = _("workflow instances")
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="instance_ended_at_a_time",
                condition=(~Q(status__in=ENDED) | Q(ended_at__isnull=False))
                & (~Q(status__in=["active", "suspended"]) | Q(ended_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="instance_with_an_incident", condition=~Q(status="incident") | Q(open_incidents__gt=0)
            ),
        ]
        indexes = [
            # Lists by status, by definition, by record, newest first.
            models.Index(name="instance_status", fields=["status", "-id"]),
            models.Index(name="instance_definition", fields=["definition", "-id"]),
            # Of one definition those that are in a status, which may be few among many.
            models.Index(name="instance_definition_status", fields=["definition", "status", "-id"]),
            models.Index(name="instance_revision", fields=["revision", "-id"]),
            models.Index(name="instance_record", fields=["record", "-id"], condition=~Q(record="")),
            # Retention finds what ended long ago.
            models.Index(name="instance_ended", fields=["ended_at"], condition=Q(ended_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.definition_id} · {self.record or self.id}"


class WorkflowVersion(models.Model):
    """A state of an instance, never changed. `parent` is the version it was made from: after a return an earlier one.

    The state is `skeleton` with references to bodies, which hold its large parts (`state_storage`).
    """

    instance = models.ForeignKey(
        WorkflowInstance, verbose_name=_("instance"), on_delete=models.CASCADE, related_name="versions", db_index=False
    )
    number = models.PositiveIntegerField(_("number"))
    parent = models.PositiveIntegerField(_("parent"), null=True)
    cause = models.CharField(_("cause"), max_length=200)
    actor = models.CharField(_("who"), max_length=160, blank=True)
    at = models.DateTimeField(_("time"))
    status = models.CharField(_("status"), max_length=10, choices=Status.choices)
    revision = models.ForeignKey(
        WorkflowRevision, verbose_name=_("revision"), on_delete=models.PROTECT, related_name="+", db_index=False
    )
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)
    skeleton = models.TextField()
    """JSON text, for its order counts; empty: created, not started."""
    bodies = models.TextField(blank=True)
    """The digests of its bodies, separated by spaces."""
    taken_key = models.CharField(max_length=300, null=True)
    """The event that this version has taken, with the element that waited for it."""

    class Meta:
        db_table = "workflows_version"
        verbose_name = _("version")
        verbose_name_plural = _("versions")
        ordering = ["instance", "-number"]
        constraints = [
            # Of two that write the next version one is refused: no fork.
            models.UniqueConstraint(name="version_number_once", fields=["instance", "number"]),
            # An event is taken once.
            models.UniqueConstraint(
                name="version_takes_once", fields=["instance", "taken_key"], condition=Q(taken_key__isnull=False)
            ),
        ]
        indexes = [
            # The trace collects what one call caused.
            models.Index(name="version_correlation", fields=["correlation_id"], condition=~Q(correlation_id="")),
            # The tree of an instance is known by its returns alone (`sql/returns.sql`).
            models.Index(
                name="version_return", fields=["instance", "-number"], condition=Q(parent__lt=F("number") - 1)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.instance_id} {self.number}"


class WorkflowBody(models.Model):
    """A large part of states, stored once for all versions that have it."""

    digest = models.CharField(max_length=43, primary_key=True)
    content = models.TextField()
    touched_at = models.DateTimeField(db_default=Now(), editable=False)
    """When a step last wrote it: retention spares a body that a version is just about to refer to."""

    class Meta:
        db_table = "workflows_body"

    def __str__(self) -> str:
        return self.digest
