"""Batches: one operation over many instances, instance by instance, with what became of each."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from config.common.ids import new_id


class WorkflowBatch(models.Model):
    """An operation over the instances that were chosen when it was made; `due_at` is the lease of whoever does it.

    A dry run has judged each instance and changed none. It is carried out over the same instances. One that was stopped
    has changed some; it is undone, or continued with the others.
    """

    class Operation(models.TextChoices):
        RETRY = "retry", pgettext_lazy("batch", "retry incidents")
        SUSPEND = "suspend", pgettext_lazy("batch", "suspend")
        RESUME = "resume", pgettext_lazy("batch", "resume")
        SET_VARIABLES = "set_variables", pgettext_lazy("batch", "set variables")
        MIGRATE = "migrate", pgettext_lazy("batch", "move to a revision")
        TERMINATE = "terminate", pgettext_lazy("batch", "terminate")

    class Status(models.TextChoices):
        CHECKING = "checking", pgettext_lazy("batch", "dry run under way")
        CHECKED = "checked", pgettext_lazy("batch", "dry run")
        RUNNING = "running", pgettext_lazy("batch", "under way")
        STOPPED = "stopped", pgettext_lazy("batch", "stopped")
        DONE = "done", pgettext_lazy("batch", "done")
        UNDOING = "undoing", pgettext_lazy("batch", "undo under way")
        UNDONE = "undone", pgettext_lazy("batch", "undone")

    UNDER_WAY = (Status.CHECKING, Status.RUNNING, Status.UNDOING)

    id = models.UUIDField(_("id"), primary_key=True, default=new_id, editable=False)
    operation = models.CharField(_("operation"), max_length=13, choices=Operation.choices)
    parameters = models.TextField(_("parameters"), default="{}")
    """JSON: the fields of the command."""
    wanted = models.TextField(_("filter"), default="{}")
    """JSON: by what the instances were chosen."""
    status = models.CharField(_("status"), max_length=8, choices=Status.choices)
    total = models.PositiveIntegerField(_("instances"))
    changed = models.PositiveIntegerField(pgettext_lazy("batch", "changed"), default=0)
    """In a dry run: how many would be."""
    refused = models.PositiveIntegerField(pgettext_lazy("batch", "refused"), default=0)
    undone = models.PositiveIntegerField(pgettext_lazy("batch", "undone"), default=0)
    kept = models.PositiveIntegerField(pgettext_lazy("batch", "left as they are"), default=0)
    """By the undo: whatever has gone on since."""
    actor = models.CharField(_("who"), max_length=160, blank=True)
    reason = models.CharField(_("reason"), max_length=180, blank=True)
    """Of the undo."""
    undone_by = models.CharField(_("undone by"), max_length=160, blank=True)
    stopped_by = models.CharField(_("stopped by"), max_length=160, blank=True, db_default="")
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)
    ended_at = models.DateTimeField(pgettext_lazy("batch", "ended"), null=True)
    due_at = models.DateTimeField(null=True)
    fence = models.BigIntegerField(default=0)
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)

    class Meta:
        db_table = "workflows_batch"
        verbose_name = _("batch")
        verbose_name_plural = _("batches")
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="batch_due_exactly_while_under_way",
                condition=Q(status__in=["checking", "running", "undoing"], due_at__isnull=False)
                | (~Q(status__in=["checking", "running", "undoing"]) & Q(due_at__isnull=True)),
            ),
        ]
        # Batches are claimed when due.
        indexes = [models.Index(name="batch_due", fields=["due_at"], condition=Q(due_at__isnull=False))]

    def __str__(self) -> str:
        return capfirst(str(self.get_operation_display()))

    @property
    def is_under_way(self) -> bool:
        return self.status in self.UNDER_WAY

    @property
    def passed(self) -> int:
        """Return how many instances the present run has looked at."""
        return self.undone + self.kept if self.status == self.Status.UNDOING else self.changed + self.refused

    @property
    def left(self) -> int:
        """Return how many instances a run has not come to."""
        return self.total - self.changed - self.refused

    @property
    def ahead(self) -> int:
        """Return how many instances the present run is about."""
        return self.changed if self.status in (self.Status.UNDOING, self.Status.UNDONE) else self.total


class BatchItem(models.Model):
    """An instance of a batch, with the versions before and after: the undo returns from the one to the other."""

    class Status(models.TextChoices):
        WAITING = "waiting", pgettext_lazy("batch item", "waiting")
        POSSIBLE = "possible", pgettext_lazy("batch item", "would be changed")
        CHANGED = "changed", pgettext_lazy("batch item", "changed")
        REFUSED = "refused", pgettext_lazy("batch item", "refused")
        UNDONE = "undone", pgettext_lazy("batch item", "undone")
        KEPT = "kept", pgettext_lazy("batch item", "left as it is")

    batch = models.ForeignKey(
        WorkflowBatch, verbose_name=_("batch"), on_delete=models.CASCADE, related_name="items", db_index=False
    )
    # Not a foreign key: retention deletes instances whatever batches they were in.
    instance = models.UUIDField(_("instance"))
    status = models.CharField(_("status"), max_length=8, choices=Status.choices, default=Status.WAITING)
    before = models.PositiveIntegerField(_("version before"), null=True)
    after = models.PositiveIntegerField(_("version after"), null=True)
    reason = models.CharField(_("reason"), max_length=500, blank=True, default="")

    class Meta:
        db_table = "workflows_batch_item"
        default_permissions = ()
        constraints = [models.UniqueConstraint(name="batch_item_once", fields=["batch", "instance"])]
        # The next that wait, in the order of their ids; how many have come to what, and why.
        indexes = [models.Index(name="batch_item_status", fields=["batch", "status", "instance"])]

    def __str__(self) -> str:
        return str(self.instance)
