from django.db import models
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

    class Meta:
        verbose_name = _("rejected signal")
        verbose_name_plural = _("rejected signals")
        ordering = ["-recorded_at", "-id"]
        constraints = [
            # The minute first: recording reads what a minute holds, and the watch for storms sums it.
            models.UniqueConstraint(name="rejected_folded_by_minute", fields=["recorded_at", "code", "sensor_id"])
        ]

    def __str__(self) -> str:
        return f"{self.code} {self.sensor_id}"
