from typing import Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from notifications.event_titles import row_title


class EndpointQuerySet(models.QuerySet["Endpoint"]):
    def unreachable(self) -> Self:
        """Return endpoints behind an open breaker; those that are paused or disabled wait for staff, not for it."""
        return self.filter(opened_at__isnull=False, active=True, paused=False)


class Endpoint(models.Model):
    """Where messages go: a webhook by `http(s):` and what signs it, a mailbox by `mailto:`, a telephone by `sms:`.

    Secrets are stored encrypted; after a rotation the old one signs too. The breaker is closed while `opened_at` is
    null; open, it lets one delivery through at `probe_at`, and closes with the first success.
    """

    url = models.CharField(_("URL"), max_length=500)
    secret = models.BinaryField()
    old_secret = models.BinaryField(null=True)
    old_secret_until = models.DateTimeField(null=True)
    active = models.BooleanField(_("active"), default=True)
    paused = models.BooleanField(_("paused"), default=False)
    off_reason = models.CharField(_("reason for disabling"), max_length=300, blank=True)
    failures = models.PositiveIntegerField(_("failures in a row"), default=0)
    opened_at = models.DateTimeField(_("paused since"), null=True)
    probe_at = models.DateTimeField(_("next retry"), null=True)
    not_before = models.DateTimeField(_("asked to wait until"), null=True)
    is_back = models.BooleanField(_("is back"), default=False)
    """Whether what it missed is still to be queued again."""

    objects = EndpointQuerySet.as_manager()

    class Meta:
        verbose_name = _("endpoint")
        verbose_name_plural = _("endpoints")
        indexes = [
            models.Index(name="endpoint_is_back", fields=["id"], condition=Q(is_back=True)),
            # The start page lists who does not answer, whoever has not for longest first.
            models.Index(name="endpoint_open", fields=["opened_at"], condition=Q(opened_at__isnull=False)),
            # It lists those that have just failed beside them.
            models.Index(name="endpoint_failing", fields=["-failures"], condition=Q(failures__gt=0)),
            # And those that nothing is sent to.
            models.Index(name="endpoint_off", fields=["-id"], condition=Q(paused=True) | Q(active=False)),
        ]
        constraints = [
            models.CheckConstraint(
                name="endpoint_open_breaker_has_a_probe",
                condition=Q(opened_at__isnull=True, probe_at__isnull=True)
                | Q(opened_at__isnull=False, probe_at__isnull=False),
            ),
            models.CheckConstraint(
                name="endpoint_old_secret_has_an_end",
                condition=Q(old_secret__isnull=True, old_secret_until__isnull=True)
                | Q(old_secret__isnull=False, old_secret_until__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.url


class Delivery(models.Model):
    """One message to one endpoint, written in the transaction of what it tells."""

    class Status(models.TextChoices):
        PENDING = "pending", _("pending")
        DELIVERED = "delivered", _("delivered")
        SUPERSEDED = "superseded", _("superseded")
        DEAD = "dead", _("not delivered")
        CANCELLED = "cancelled", _("cancelled")

    class Family(models.TextChoices):
        """In the families STATE and CONNECTION a newer delivery of the same subject supersedes an older pending one."""

        STATE = "state", _("state")
        CONNECTION = "connection", _("connection")
        OPEN = "open", _("left open")
        LIST = "list", _("list")
        PING = "ping", _("ping")
        ALERT = "alert", _("alert")
        NOTICE = "notice", _("notice to a person")

    endpoint = models.ForeignKey(
        Endpoint, verbose_name=_("endpoint"), on_delete=models.PROTECT, related_name="deliveries", db_index=False
    )
    type = models.CharField(_("type"), max_length=80)
    family = models.CharField(_("family"), max_length=10, choices=Family.choices)
    subject = models.CharField(_("object"), max_length=120, blank=True)
    body = models.JSONField(_("message"))
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.PENDING)
    reason = models.CharField(_("reason"), max_length=300, blank=True)
    superseded_by = models.ForeignKey(
        "self",
        verbose_name=_("superseded by"),
        null=True,
        on_delete=models.SET_NULL,
        related_name="supersedes",
        db_index=False,
    )
    attempts = models.PositiveSmallIntegerField(_("attempts"), default=0)
    """How many of its attempts are used up: probes of an open breaker do not count, and a resend begins anew."""
    attempts_made = models.PositiveIntegerField(_("attempts"), db_default=0)
    """How many attempts were made in all, with probes and those before a resend: what people read."""
    is_retry = models.BooleanField(_("retry"), default=False)
    """Whether it was attempted before: first attempts go before retries."""
    is_forced = models.BooleanField(_("resent"), default=False)
    """Whether staff asked for it: an open breaker lets it pass."""
    is_final = models.BooleanField(_("not to be queued again"), default=False)
    """Whether it stays as it is when its client comes back: it was withheld on purpose, or a newer one followed."""
    due_at = models.DateTimeField(_("next attempt"), null=True)
    under_way_until = models.DateTimeField(_("in progress until"), null=True)
    """The lease of the attempt under way; a newer delivery then only names itself as the successor."""
    fence = models.BigIntegerField(default=0)
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)
    message_id = models.UUIDField(null=True, unique=True, editable=False)
    """The id that receivers see; the row's number would come again after a restore. Null in rows of old releases."""

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
            models.CheckConstraint(
                name="delivery_under_way_only_while_pending",
                condition=Q(under_way_until__isnull=True) | Q(status="pending"),
            ),
        ]
        indexes = [
            # The sender finds the endpoints that have something due, and of each the first attempts before the retries.
            models.Index(
                name="delivery_due", fields=["is_retry", "endpoint", "due_at", "id"], condition=Q(status="pending")
            ),
            # It counts what is under way to an endpoint, and looks for an older message that still is.
            models.Index(name="delivery_under_way", fields=["endpoint"], condition=Q(under_way_until__isnull=False)),
            models.Index(
                name="delivery_giving_way",
                fields=["endpoint", "subject", "family"],
                condition=Q(status="pending", superseded_by__isnull=False),
            ),
            # What staff sent again passes an open breaker.
            models.Index(name="delivery_forced", fields=["endpoint"], condition=Q(status="pending", is_forced=True)),
            # The newest dead or cancelled message comes back when its client does.
            models.Index(
                name="delivery_may_return",
                fields=["endpoint", "subject", "family"],
                condition=Q(status__in=["dead", "cancelled"], is_final=False),
            ),
            # Staff look at the dead letters, newest first, and send them again, oldest first.
            models.Index(name="delivery_dead", fields=["id"], condition=Q(status="dead")),
            # The pages of a client and of a sensor list their deliveries, newest first.
            models.Index(name="delivery_endpoint", fields=["endpoint", "-id"]),
            models.Index(name="delivery_subject", fields=["subject", "-id"]),
            models.Index(
                name="delivery_superseded_by", fields=["superseded_by"], condition=Q(superseded_by__isnull=False)
            ),
            # The trace collects what one call caused.
            models.Index(name="delivery_correlation", fields=["correlation_id"], condition=~Q(correlation_id="")),
        ]

    def __str__(self) -> str:
        return " · ".join(filter(None, [row_title(self, "body"), self.subject]))

    @property
    def webhook_id(self) -> str:
        """The id that every attempt carries: the receiver removes repeats by it."""
        return str(self.pk if self.message_id is None else self.message_id)


class ListedSubject(models.Model):
    """A subject that a list names: later deliveries about its connection wait until the list has ended."""

    delivery = models.ForeignKey(Delivery, on_delete=models.CASCADE, related_name="listed")
    endpoint = models.ForeignKey(Endpoint, on_delete=models.CASCADE, db_index=False, related_name="+")
    subject = models.CharField(max_length=120)
    is_open = models.BooleanField(default=True)
    """Whether the list is still pending."""

    class Meta:
        constraints = [models.UniqueConstraint(name="listed_once", fields=["delivery", "subject"])]
        indexes = [
            models.Index(name="listed_open", fields=["endpoint", "subject"], condition=Q(is_open=True)),
            models.Index(name="listed_subject", fields=["subject", "-delivery"]),
        ]


class Attempt(models.Model):
    """One attempt to send a delivery, and what was answered. Partitioned by day on PostgreSQL."""

    # A plain number: the partitions go by the day, whatever became of the delivery.
    delivery = models.ForeignKey(
        Delivery, verbose_name=_("delivery"), on_delete=models.DO_NOTHING, related_name="tries", db_constraint=False
    )
    at = models.DateTimeField(_("time"))
    url = models.CharField(_("URL"), max_length=500)
    status = models.PositiveSmallIntegerField(_("status"), null=True)
    duration_ms = models.PositiveIntegerField(_("duration, ms"))
    error = models.CharField(_("error"), max_length=300, blank=True)
    answer = models.CharField(_("answer"), max_length=1024, blank=True)
    recorded_at = models.DateTimeField(_("recorded"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("attempt")
        verbose_name_plural = _("attempts")
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"{self.delivery_id}: {self.status or self.error}"
