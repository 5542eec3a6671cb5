from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext, ngettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from config.common.text_templates import render_text
from notifications.alert_kinds import Severity


class Alert(models.Model):
    """Something that a person must know of. Repeats are counted on the same row until it is resolved.

    While it is open it is escalated: `due_at` is the time of the next rung, `told_after` the last rung notified.
    """

    class Status(models.TextChoices):
        OPEN = "open", pgettext_lazy("alert", "open")
        ACKNOWLEDGED = "acknowledged", _("acknowledged")
        RESOLVED = "resolved", pgettext_lazy("alert", "resolved")

    kind = models.CharField(_("kind"), max_length=60)
    severity = models.PositiveSmallIntegerField(
        _("severity"), choices=Severity.choices, default=Severity.WARNING, db_default=Severity.WARNING
    )
    """By the kind, as it was when the alert was last raised."""
    subject = models.CharField(_("object"), max_length=120)
    title = models.CharField(_("title"), max_length=300)
    """In English, with the names of its details as `%(name)s`: `words` has it in the reader's language."""
    detail = models.JSONField(_("details"), default=dict)
    status = models.CharField(_("status"), max_length=12, choices=Status.choices, default=Status.OPEN)
    count = models.PositiveIntegerField(_("times"), default=1)
    first_at = models.DateTimeField(_("first raised"), db_default=Now())
    last_at = models.DateTimeField(_("last raised"), db_default=Now())
    acknowledged_by = models.CharField(_("acknowledged by"), max_length=160, blank=True)
    acknowledged_at = models.DateTimeField(_("acknowledged"), null=True)
    resolved_by = models.CharField(_("resolved by"), max_length=160, blank=True)
    """Empty when it closed by itself."""
    resolved_at = models.DateTimeField(_("resolved"), null=True)
    resolution = models.CharField(_("resolution"), max_length=300, blank=True)
    muted_until = models.DateTimeField(_("muted until"), null=True)
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)
    told_after = models.PositiveIntegerField(null=True)
    """The seconds of the last rung that was notified; later rungs are still to come."""
    due_at = models.DateTimeField(_("next escalation"), null=True)
    fence = models.BigIntegerField(default=0)

    class Meta:
        verbose_name = _("alert")
        verbose_name_plural = _("alerts")
        ordering = ["-id"]
        constraints = [
            # A repeat counts on the row that is there, also when two processes raise it at once.
            models.UniqueConstraint(
                name="alert_once_until_resolved", fields=["kind", "subject"], condition=~Q(status="resolved")
            ),
            models.CheckConstraint(
                name="alert_climbs_only_while_open", condition=Q(due_at__isnull=True) | Q(status="open")
            ),
            models.CheckConstraint(
                name="alert_acknowledged_by_someone",
                condition=~Q(status="acknowledged") | (Q(acknowledged_at__isnull=False) & ~Q(acknowledged_by="")),
            ),
            models.CheckConstraint(
                name="alert_resolved_at_a_time",
                condition=Q(status="resolved", resolved_at__isnull=False)
                | (~Q(status="resolved") & Q(resolved_at__isnull=True)),
            ),
        ]
        indexes = [
            # Escalation finds the alerts whose next rung is due.
            models.Index(name="alert_due", fields=["due_at"], condition=Q(due_at__isnull=False)),
            # REST lists one status, newest first.
            models.Index(name="alert_status", fields=["status", "-id"]),
            # The inbox shows open alerts before those taken on, the most severe first and of these the oldest.
            models.Index(name="alert_severity", fields=["-status", "severity", "id"], condition=~Q(status="resolved")),
            # An alert that is raised again inherits the time for which the last one of its subject was muted.
            models.Index(name="alert_muted", fields=["kind", "subject"], condition=Q(muted_until__isnull=False)),
            # The daily upkeep deletes what was resolved long ago.
            models.Index(name="alert_resolved", fields=["resolved_at"], condition=Q(status="resolved")),
            # The trace collects what one call caused.
            models.Index(name="alert_correlation", fields=["correlation_id"], condition=~Q(correlation_id="")),
        ]

    def __str__(self) -> str:
        return self.words

    @property
    def words(self) -> str:
        return render_text(self.title, self.detail)

    @property
    def severity_code(self) -> str:
        return Severity(self.severity).code


class Rung(models.Model):
    """One rung of the ladder: who is notified, by which channel, after how long without an acknowledgement."""

    class Channel(models.TextChoices):
        EMAIL = "email", _("e-mail")
        SMS = "sms", _("SMS")

    after_seconds = models.PositiveIntegerField(
        _("escalate after, seconds"), help_text=_("How long the alert may go unacknowledged; 0 means at once.")
    )
    channel = models.CharField(_("channel"), max_length=5, choices=Channel.choices)
    to_superusers = models.BooleanField(_("to every active superuser"), default=False)
    to_administrator = models.BooleanField(
        _("to the administrator"), default=False, help_text=_("ADMIN_EMAIL or ADMIN_PHONE, depending on the channel.")
    )
    addresses = models.TextField(
        _("also to"), blank=True, help_text=_("E-mail addresses or phone numbers, separated by spaces or commas.")
    )
    active = models.BooleanField(_("active"), default=True)

    class Meta:
        verbose_name = _("escalation step")
        verbose_name_plural = _("escalation")
        ordering = ["after_seconds", "id"]
        constraints = [
            # Accounts have no telephone.
            models.CheckConstraint(
                name="rung_superusers_have_mail_alone", condition=Q(channel="email") | Q(to_superusers=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_channel_display()} {self.delay_words}"

    @property
    def delay_words(self) -> str:
        """When it is notified."""
        if self.after_seconds == 0:
            return gettext("at once")
        minutes, seconds = divmod(self.after_seconds, 60)
        if seconds:
            words = ngettext("after %(count)d second", "after %(count)d seconds", self.after_seconds)
            return words % {"count": self.after_seconds}
        return ngettext("after %(count)d minute", "after %(count)d minutes", minutes) % {"count": minutes}
