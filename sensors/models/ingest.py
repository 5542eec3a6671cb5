from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class RejectedSignal(models.Model):
    """A signal that was refused, with the reason; equal ones within a minute are folded into one row.

    Beyond a number of sensors a minute and reason the rest has one row without a sensor.
    `recorded_at` is that minute: part of the key, and on PostgreSQL the table is partitioned by its day.
    """

    code = models.CharField(_("reason"), max_length=20)
    sensor_id = models.CharField(_("sensor"), max_length=64, blank=True)
    recorded_at = models.DateTimeField(_("minute"))
    count = models.PositiveIntegerField(_("times"), default=1)
    message = models.CharField(_("message"), max_length=300)
    raw = models.TextField(_("text"), blank=True)
    last_at = models.DateTimeField(_("last"), db_default=Now())
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True, db_default="")
    """Of the last of them, as its text is."""

    class Meta:
        verbose_name = _("rejected signal")
        verbose_name_plural = _("rejected signals")
        ordering = ["-recorded_at", "-id"]
        constraints = [
            # The minute first: recording reads what a minute holds, and the watch for storms sums it.
            models.UniqueConstraint(name="rejected_folded_by_minute", fields=["recorded_at", "code", "sensor_id"])
        ]
        indexes = [
            # The trace collects what one call caused.
            models.Index(name="rejected_correlation", fields=["correlation_id"], condition=~Q(correlation_id="")),
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.sensor_id}"


class RepeatedSignal(models.Model):
    """A signal that came again and had no effect: of each sensor the last one of a minute.

    Nothing else tells of it: history has the signal once. `recorded_at` is the minute in which it came again.
    """

    recorded_at = models.DateTimeField(_("minute"))
    sensor_id = models.CharField(_("sensor"), max_length=16)
    signal_at = models.DateTimeField(_("time"))
    signal_id = models.CharField(_("id"), max_length=64)
    last_at = models.DateTimeField(_("last"))

    class Meta:
        verbose_name = _("repeated signal")
        verbose_name_plural = _("repeated signals")
        constraints = [
            # The minute first: recording reads what a minute holds, retention deletes the oldest.
            models.UniqueConstraint(name="repeated_folded_by_minute", fields=["recorded_at", "sensor_id"])
        ]

    def __str__(self) -> str:
        return f"{self.sensor_id} {self.signal_id}"
