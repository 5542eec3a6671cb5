from datetime import timedelta

from django.db import models

from config.common.database.counted_spans import CountedTables, Length


class CountedSpan(models.Model):
    """An hour or a day (UTC) that is over and counted, on PostgreSQL: statistics add totals up instead of messages."""

    length = models.CharField(max_length=4, choices=Length.choices)
    at = models.DateTimeField()

    class Meta:
        constraints = [
            # Also the index by which statistics find the spans of a period.
            models.UniqueConstraint(name="span_counted_once", fields=["at", "length"]),
        ]

    def __str__(self) -> str:
        return f"{self.length} {self.at}"


class SpanTotal(models.Model):
    """What one party sent in a counted span, and what became of it; parties without anything have no row."""

    span = models.ForeignKey(CountedSpan, on_delete=models.CASCADE, related_name="totals", db_index=False)
    by = models.CharField(max_length=10)
    """The kind of party: device, subsystem, database, enterprise."""
    party = models.CharField(max_length=64)
    sent = models.BigIntegerField(default=0)
    bytes = models.BigIntegerField(default=0)
    replies = models.BigIntegerField(default=0)
    reply_bytes = models.BigIntegerField(default=0)
    settled = models.BigIntegerField(default=0)
    processed = models.BigIntegerField(default=0)
    incorrect = models.BigIntegerField(default=0)
    waited = models.DurationField(default=timedelta)
    """All that was settled, together."""
    deadlocks = models.BigIntegerField(default=0)

    class Meta:
        constraints = [
            # Also the index by which statistics read the totals of a kind of party.
            models.UniqueConstraint(name="span_total_once", fields=["span", "by", "party"]),
        ]

    def __str__(self) -> str:
        return f"{self.by} {self.party}"


class TouchedHour(models.Model):
    """An hour in which a row was changed after the hour was over, written by triggers with the change itself.

    Statistics count such an hour from the rows until the upkeep has counted it again.
    """

    at = models.DateTimeField()

    class Meta:
        indexes = [
            # Statistics find the touched hours of a period.
            models.Index(name="touched_hour_at", fields=["at"]),
        ]

    def __str__(self) -> str:
        return str(self.at)


COUNTED = CountedTables(CountedSpan, TouchedHour)
