from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class Endpoint(models.Model):
    """Where webhooks go, and what signs them. Secrets are kept encrypted; after a rotation the old one signs too."""

    url = models.CharField(_("URL"), max_length=500)
    secret = models.BinaryField()
    old_secret = models.BinaryField(null=True)
    old_secret_until = models.DateTimeField(null=True)
    active = models.BooleanField(_("active"), default=True)
    paused = models.BooleanField(_("paused"), default=False)

    class Meta:
        verbose_name = _("endpoint")
        verbose_name_plural = _("endpoints")
        constraints = [
            models.CheckConstraint(
                name="endpoint_old_secret_has_an_end",
                condition=Q(old_secret__isnull=True, old_secret_until__isnull=True)
                | Q(old_secret__isnull=False, old_secret_until__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.url


class Delivery(models.Model):
    """One message owed to one endpoint, written in the transaction of the fact it tells."""

    class Status(models.TextChoices):
        PENDING = "pending", _("pending")
        DELIVERED = "delivered", _("delivered")
        SUPERSEDED = "superseded", _("superseded")
        DEAD = "dead", _("dead")
        CANCELLED = "cancelled", _("cancelled")

    class Family(models.TextChoices):
        """Within a family a newer message of the same subject supersedes an older pending one; lists stand alone."""

        STATE = "state", _("state")
        CONNECTION = "connection", _("connection")
        LIST = "list", _("list")
        PING = "ping", _("ping")

    endpoint = models.ForeignKey(
        Endpoint, verbose_name=_("endpoint"), on_delete=models.PROTECT, related_name="deliveries"
    )
    type = models.CharField(_("type"), max_length=80)
    family = models.CharField(_("family"), max_length=10, choices=Family.choices)
    subject = models.CharField(_("subject"), max_length=120, blank=True)
    body = models.JSONField(_("message"))
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.PENDING)
    reason = models.CharField(_("reason"), max_length=300, blank=True)
    superseded_by = models.ForeignKey(
        "self", verbose_name=_("superseded by"), null=True, on_delete=models.SET_NULL, related_name="supersedes"
    )
    due_at = models.DateTimeField(_("next attempt"), null=True)
    fence = models.BigIntegerField(default=0)
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("delivery")
        verbose_name_plural = _("deliveries")
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="delivery_due_exactly_while_pending",
                condition=Q(status="pending", due_at__isnull=False) | (~Q(status="pending") & Q(due_at__isnull=True)),
            ),
            # Only the newest of a family is worth sending: a second one that nothing supersedes cannot exist.
            models.UniqueConstraint(
                name="delivery_one_pending_per_family",
                fields=["endpoint", "subject", "family"],
                condition=Q(status="pending", superseded_by__isnull=True, family__in=["state", "connection"]),
            ),
        ]
        indexes = [
            # The sender claims the rows of an endpoint that are due.
            models.Index(name="delivery_due", fields=["endpoint", "due_at"], condition=Q(status="pending")),
            # The pages of a client and of a sensor list their deliveries, newest first.
            models.Index(name="delivery_endpoint", fields=["endpoint", "-id"]),
            models.Index(name="delivery_subject", fields=["subject", "-id"]),
            # The trace collects what one call caused.
            models.Index(name="delivery_correlation", fields=["correlation_id"], condition=~Q(correlation_id="")),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.subject}"
