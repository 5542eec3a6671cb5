"""Events on their way to instances: those received from outside, and those that wait for a resume."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from processes.workflows.models.instance import WorkflowInstance


class ReceivedEvent(models.Model):
    """The id of an event that came from outside: under it the event counts once."""

    source = models.CharField(_("source"), max_length=160)
    event_id = models.CharField(_("id"), max_length=200)
    received_at = models.DateTimeField(_("received"), db_default=Now(), editable=False)

    class Meta:
        db_table = "workflows_received_event"
        constraints = [models.UniqueConstraint(name="received_event_once", fields=["source", "event_id"])]
        # Retention deletes the old ones.
        indexes = [models.Index(name="received_event_age", fields=["received_at"])]

    def __str__(self) -> str:
        return f"{self.source}: {self.event_id}"


class PostponedEvent(models.Model):
    """An event for an instance that was suspended when it came: it is offered again after the resume."""

    instance = models.ForeignKey(
        WorkflowInstance, verbose_name=_("instance"), on_delete=models.CASCADE, related_name="+", db_index=False
    )
    taken_key = models.CharField(max_length=300)
    command = models.JSONField(_("command"))
    cause = models.CharField(_("cause"), max_length=200)
    position = models.BigIntegerField()
    due_at = models.DateTimeField(_("due"), null=True)
    fence = models.BigIntegerField(default=0)
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)

    class Meta:
        db_table = "workflows_postponed_event"
        verbose_name = _("postponed event")
        verbose_name_plural = _("postponed events")
        constraints = [models.UniqueConstraint(name="postponed_event_once", fields=["instance", "taken_key"])]
        # They are claimed when their instance is resumed.
        indexes = [models.Index(name="postponed_event_due", fields=["due_at"], condition=Q(due_at__isnull=False))]

    def __str__(self) -> str:
        return self.cause
