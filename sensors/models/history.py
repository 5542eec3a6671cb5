from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class StoredSignal(models.Model):
    """History of signals where no ClickHouse is configured: every accepted signal once."""

    sensor_id = models.CharField(_("sensor"), max_length=16)
    at = models.DateTimeField(_("time"))
    signal_id = models.CharField(_("id"), max_length=64)
    data = models.PositiveSmallIntegerField(_("state"))
    received_at = models.DateTimeField(_("received"))

    class Meta:
        verbose_name = _("signal")
        verbose_name_plural = _("signals")
        constraints = [
            # Also the index of `GET /sensors/{id}/history/`, read backwards.
            models.UniqueConstraint(name="stored_signal_once", fields=["sensor_id", "at", "signal_id"])
        ]
        indexes = [
            # Retention deletes by month.
            models.Index(name="stored_signal_at", fields=["at"]),
        ]

    def __str__(self) -> str:
        return f"{self.sensor_id} {self.at}: {self.data}"


class HistorySpool(models.Model):
    """A batch of accepted signals on its way into history, written with their state when no queue could carry it."""

    batch = models.BinaryField()
    due_at = models.DateTimeField(db_default=Now())
    fence = models.BigIntegerField(default=0)

    class Meta:
        indexes = [
            # The writer of history claims the oldest.
            models.Index(name="history_spool_due", fields=["due_at"]),
        ]

    def __str__(self) -> str:
        return str(self.pk)
