from datetime import timedelta

from django.db import models

from config.common.database.counted_spans import CountedTables, Length
from sensors.models.registry import Client


class DeliverySpan(models.Model):
    """An hour or a day (UTC) that is over and whose deliveries are counted, on PostgreSQL."""

    length = models.CharField(max_length=4, choices=Length.choices)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            # Also the index by which statistics find the spans of a period.
            models.UniqueConstraint(name="delivery_span_counted_once", fields=["at", "length"]),
        ]

    def __str__(self) -> str:
        return f"{self.length} {self.at}"


class DeliveryTotal(models.Model):
    """What was created for one client in a counted span, and what became of it; clients without any have no row."""

    span = models.ForeignKey(DeliverySpan, on_delete=models.CASCADE, related_name="totals", db_index=False)
    client = models.ForeignKey(Client, on_delete=models.CASCADE, related_name="+", db_index=False)
    pending = models.BigIntegerField(default=0)
    delivered = models.BigIntegerField(default=0)
    superseded = models.BigIntegerField(default=0)
    dead = models.BigIntegerField(default=0)
    cancelled = models.BigIntegerField(default=0)
    attempts = models.BigIntegerField(default=0)
    successes = models.BigIntegerField(default=0)
    waited = models.DurationField(default=timedelta)
    """From the creation to each successful attempt, all together."""

    class Meta:
        constraints = [
            # Also the index by which statistics read the totals of a span.
            models.UniqueConstraint(name="delivery_total_once", fields=["span", "client"]),
        ]

    def __str__(self) -> str:
        return f"client {self.client_id}"


class TouchedDeliveryHour(models.Model):
    """An hour one of whose deliveries was attempted or got another status after the hour was over, by triggers."""

    at = models.DateTimeField()

    class Meta:
        indexes = [
            # Statistics find the touched hours of a period.
            models.Index(name="touched_delivery_hour_at", fields=["at"]),
        ]

    def __str__(self) -> str:
        return str(self.at)


COUNTED_DELIVERIES = CountedTables(DeliverySpan, TouchedDeliveryHour)
