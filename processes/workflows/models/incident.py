from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from processes.workflows.models.instance import WorkflowInstance


class WorkflowIncident(models.Model):
    """A command, task or effect that failed, with what a retry needs."""

    class Status(models.TextChoices):
        OPEN = "open", pgettext_lazy("incident", "open")
        RESOLVED = "resolved", pgettext_lazy("incident", "resolved")

    instance = models.ForeignKey(
        WorkflowInstance, verbose_name=_("instance"), on_delete=models.CASCADE, related_name="incidents", db_index=False
    )
    about = models.CharField(max_length=300)
    """What of the instance it is about: `start`, `task:…`, `timer:…`, `event:…`, `effect:…`, or the command."""
    command = models.JSONField(_("command"))
    element = models.CharField(_("element"), max_length=200, blank=True)
    reason = models.TextField(_("reason"))
    status = models.CharField(_("status"), max_length=8, choices=Status.choices, default=Status.OPEN)
    times = models.PositiveIntegerField(_("times"), default=1)
    opened_at = models.DateTimeField(_("opened"))
    resolved_at = models.DateTimeField(_("resolved"), null=True)
    note = models.TextField(_("note"), blank=True)
    actor = models.CharField(_("resolved by"), max_length=160, blank=True)
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)

    class Meta:
        db_table = "workflows_incident"
        verbose_name = _("workflow incident")
        verbose_name_plural = _("workflow incidents")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(
                name="workflow_incident_open_once", fields=["instance", "about"], condition=Q(status="open")
            ),
            models.CheckConstraint(
                name="workflow_incident_resolved_at_a_time",
                condition=Q(status="open", resolved_at__isnull=True) | Q(status="resolved", resolved_at__isnull=False),
            ),
        ]
        indexes = [
            # An event that has failed here before; the incidents of an instance.
            models.Index(name="workflow_incident_about", fields=["instance", "about"]),
            # The start page lists the open ones.
            models.Index(name="workflow_incident_open", fields=["-id"], condition=Q(status="open")),
        ]

    def __str__(self) -> str:
        return self.reason
