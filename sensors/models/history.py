from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from sensors.events import CONNECTION_LOST, CONNECTION_RESTORED, LOSS_WITHDRAWN

CONNECTION_TYPES = (CONNECTION_LOST, CONNECTION_RESTORED, LOSS_WITHDRAWN)


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


class StoredEvent(models.Model):
    """History of the sensors' events where no ClickHouse is configured; it outlives the outbox (`EVENT_DAYS`).

    The primary key is that of the outbox row, so that a copy made twice is one row.
    """

    id = models.BigIntegerField(primary_key=True)
    type = models.CharField(_("type"), max_length=80)
    sensor_id = models.CharField(_("sensor"), max_length=16)
    at = models.DateTimeField(_("time"))
    recorded_at = models.DateTimeField(_("recorded"))
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)
    payload = models.JSONField(_("payload"), default=dict)

    class Meta:
        verbose_name = _("past event")
        verbose_name_plural = _("past events")
        indexes = [
            # `GET /sensors/{id}/events/`, the chart, and whether a signal changed the state; read backwards.
            models.Index(name="stored_event_sensor", fields=["sensor_id", "at", "id"]),
            # The last loss before a time, and what ended it: few among the changes of a door.
            models.Index(
                name="stored_event_connection",
                fields=["sensor_id", "type", "at", "id"],
                condition=Q(type__in=CONNECTION_TYPES),
            ),
            # Retention deletes by month; events of all sensors of a client.
            models.Index(name="stored_event_at", fields=["at"]),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.sensor_id}"


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
