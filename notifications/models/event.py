from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from notifications.event_titles import row_title

DOOR_TYPES = (
    "sensor.state_changed",
    "sensor.connection_lost",
    "sensor.connection_restored",
    "sensor.loss_withdrawn",
    "sensor.left_open",
)
"""The events of a door by name: sensors stand above this app, and an index cannot be told what it has by them."""


class Event(models.Model):
    """An event, written in the transaction that makes it true: history and outbox in one row.

    `id` is taken before the commit, so a smaller one may become visible later; the sequencer stamps `position` on
    committed rows, without gaps, and followers read by it. On PostgreSQL the table is partitioned by the day of
    `recorded_at`.
    """

    type = models.CharField(_("type"), max_length=80)
    subject = models.CharField(_("object"), max_length=120)
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
            # The live page begins with the newest changes of doors, however long ago they were.
            models.Index(
                name="event_door",
                fields=["position"],
                condition=Q(position__isnull=False, type__in=DOOR_TYPES),
            ),
            # The pages of one subject list its events, newest first.
            models.Index(name="event_subject", fields=["subject", "-id"]),
            # The trace collects what one call caused.
            models.Index(name="event_correlation", fields=["correlation_id"], condition=~Q(correlation_id="")),
        ]

    def __str__(self) -> str:
        return f"{row_title(self, 'payload')} · {self.subject}"


class Sequencer(models.Model):
    """The last position given out: one row, whose lock lets one sequencer stamp at a time."""

    position = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(name="sequencer_is_one_row", condition=Q(id=1))]


class EventHour(models.Model):
    """How many events were stamped in an hour: the start page's chart, at a cost that does not grow with them."""

    hour = models.DateTimeField(primary_key=True)
    count = models.BigIntegerField(default=0)


class EventMinute(models.Model):
    """How many events of a counted type were stamped in a minute, by outcome: the charts of the last hour."""

    pk = models.CompositePrimaryKey("minute", "type", "outcome")
    minute = models.DateTimeField()
    type = models.CharField(max_length=80)
    outcome = models.CharField(max_length=12)
    """What became of a delivery, the new state of a sensor; empty where the type says it all."""
    count = models.BigIntegerField(default=0)
