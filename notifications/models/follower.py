from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from notifications.event_titles import event_title


class Follower(models.Model):
    """How far one follower of the events has read; claimed by lease, moved on together with its effects."""

    name = models.CharField(_("name"), max_length=60, primary_key=True)
    position = models.BigIntegerField(_("position"), default=0)
    due_at = models.DateTimeField(_("next read"), db_default=Now())
    fence = models.BigIntegerField(default=0)
    failures = models.PositiveSmallIntegerField(_("failures in a row"), default=0)
    last_error = models.TextField(_("last error"), blank=True)

    class Meta:
        verbose_name = _("event consumer")
        verbose_name_plural = _("event consumers")
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name


class Incident(models.Model):
    """An event that a follower could not take ten times running: set aside with a copy, so that the rest goes on."""

    follower = models.ForeignKey(Follower, verbose_name=_("event consumer"), on_delete=models.PROTECT)
    position = models.BigIntegerField(_("position"))
    type = models.CharField(_("type"), max_length=80)
    subject = models.CharField(_("object"), max_length=120)
    event = models.JSONField(_("event"))
    error = models.TextField(_("error"))
    at = models.DateTimeField(_("time"), db_default=Now())
    resolved_at = models.DateTimeField(_("resolved"), null=True, blank=True)
    resolution = models.CharField(_("resolution"), max_length=300, blank=True)

    class Meta:
        verbose_name = _("incident")
        verbose_name_plural = _("incidents")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(name="incident_once_per_event", fields=["follower", "position"]),
            models.CheckConstraint(
                name="incident_resolved_with_resolution",
                condition=Q(resolved_at__isnull=True) ^ ~Q(resolution=""),
            ),
        ]
        indexes = [
            # The start page and the list show the open ones.
            models.Index(name="incident_open", fields=["at"], condition=Q(resolved_at__isnull=True)),
            # The daily upkeep deletes what was resolved long ago.
            models.Index(name="incident_resolved", fields=["resolved_at"], condition=Q(resolved_at__isnull=False)),
        ]

    def __str__(self) -> str:
        return f"{self.follower_id}: {event_title(self.type, self.event.get('payload'))} · {self.subject}"

    @property
    def correlation_id(self) -> str:
        """The chain of the event."""
        return str(self.event.get("correlation_id", ""))
