from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class Event(models.Model):
    """An event, written in the transaction that makes it true: history and outbox in one row.

    `id` is taken before the commit, so a smaller one may become visible later; the sequencer stamps `position` on
    committed rows, without gaps, and followers read by it. On PostgreSQL the table is partitioned by the day of
    `recorded_at`.
    """

    type = models.CharField(_("type"), max_length=80)
    subject = models.CharField(_("subject"), max_length=120)
    payload = models.JSONField(_("payload"), default=dict)
    at = models.DateTimeField(_("time"))
    recorded_at = models.DateTimeField(_("recorded"), db_default=Now(), editable=False)
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)
    position = models.BigIntegerField(_("position"), null=True, editable=False)

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        ordering = ["-id"]
        indexes = [
            # The sequencer finds what has no position yet.
            models.Index(name="event_unstamped", fields=["id"], condition=Q(position__isnull=True)),
            # Each follower reads on from its position.
            models.Index(name="event_position", fields=["position"], condition=Q(position__isnull=False)),
            # The pages of one subject list its events, newest first.
            models.Index(name="event_subject", fields=["subject", "-id"]),
            # The trace collects what one call caused.
            models.Index(name="event_correlation", fields=["correlation_id"], condition=~Q(correlation_id="")),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.subject}"


class Sequencer(models.Model):
    """The last position given out: one row, whose lock lets one sequencer stamp at a time."""

    position = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(name="sequencer_is_one_row", condition=Q(id=1))]


class EventHour(models.Model):
    """How many events were stamped in an hour: the start page's chart, at a cost that does not grow with them."""

    hour = models.DateTimeField(primary_key=True)
    count = models.BigIntegerField(default=0)
