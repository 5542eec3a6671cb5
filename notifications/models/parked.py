from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class MessageFailure(models.Model):
    """How many attempts to handle a message of a queue have not ended; counted before each, deleted by success.

    The broker has no such count. A row survives a process that dies of its message, and all consumers share it.
    """

    queue = models.CharField(max_length=160)
    digest = models.CharField(max_length=64)
    failures = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)
    tried_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(name="message_failure_once", fields=["queue", "digest"])]
        # Upkeep deletes the counts of messages that have left their queue in another way.
        indexes = [models.Index(name="message_failure_old", fields=["tried_at"])]

    def __str__(self) -> str:
        return f"{self.queue} {self.digest[:12]}"


class ParkedMessage(models.Model):
    """A message of RabbitMQ that failed again and again for no known reason, kept until staff decide about it."""

    class Status(models.TextChoices):
        PARKED = "parked", _("parked")
        RESENT = "resent", _("sent again")
        DISCARDED = "discarded", _("discarded")

    queue = models.CharField(_("queue"), max_length=160)
    body = models.BinaryField(_("body"))
    properties = models.JSONField(_("properties"), default=dict)
    failures = models.PositiveIntegerField(_("failures"))
    error = models.TextField(_("error"), blank=True)
    parked_at = models.DateTimeField(_("parked"), db_default=Now())
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.PARKED)
    decided_at = models.DateTimeField(_("decided"), null=True, blank=True)
    decided_by = models.CharField(_("decided by"), max_length=160, blank=True)
    reason = models.CharField(_("reason"), max_length=200, blank=True)

    class Meta:
        verbose_name = _("parked message")
        verbose_name_plural = _("parked messages")
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="parked_message_decided", condition=Q(status="parked") ^ Q(decided_at__isnull=False)
            ),
            models.CheckConstraint(
                name="parked_message_discarded_with_reason", condition=~Q(status="discarded", reason="")
            ),
        ]
        indexes = [
            # The alert of a queue counts what is still undecided.
            models.Index(name="parked_message_open", fields=["queue"], condition=Q(status="parked")),
            # Retention deletes what was decided long ago.
            models.Index(name="parked_message_decided_at", fields=["decided_at"]),
        ]

    def __str__(self) -> str:
        return f"{self.queue} #{self.pk}"

    @property
    def correlation_id(self) -> str:
        """The chain that its sender has named, whatever text that is."""
        return str(self.properties.get("correlation_id", ""))
