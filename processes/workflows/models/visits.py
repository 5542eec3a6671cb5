from datetime import UTC, datetime

from django.db import models

from processes.workflows.models.definition import WorkflowRevision

EVER = datetime(1970, 1, 1, tzinfo=UTC)
"""The time of the total that has no beginning."""
ENTERED = 0
STANDING = -1


class StepVisits(models.Model):
    """The visits of one step, written with it and waiting to be added to the totals, which takes seconds.

    Steps do not write the totals themselves: all instances of a definition would wait for the same rows.
    """

    at = models.DateTimeField()
    visits = models.TextField()
    """A JSON list of `Visit`."""

    class Meta:
        db_table = "workflows_step_visits"
        default_permissions = ()

    def __str__(self) -> str:
        return str(self.pk)


class VisitTotal(models.Model):
    """How often an element was entered, or left after a stay of some length, in an hour, a day or ever."""

    class Span(models.TextChoices):
        HOUR = "hour"
        DAY = "day"
        EVER = "ever"

    revision = models.ForeignKey(WorkflowRevision, on_delete=models.CASCADE, related_name="+", db_index=False)
    span = models.CharField(max_length=4, choices=Span.choices)
    at = models.DateTimeField()
    """When the hour or the day begins, in UTC."""
    element = models.CharField(max_length=200)
    band = models.SmallIntegerField()
    """`ENTERED`; `STANDING`, of the span `ever` alone; from 1 on the length of the stays, see `visits/bands.py`."""
    count = models.BigIntegerField()
    seconds = models.FloatField()
    """Of stays: how long all of them were."""

    class Meta:
        db_table = "workflows_visit_total"
        default_permissions = ()
        constraints = [
            # Steps are added to a total that is there; the figures of a revision are read by it, too.
            models.UniqueConstraint(name="visit_total_once", fields=["revision", "span", "at", "element", "band"]),
        ]
        # Retention finds hours and days that are over.
        indexes = [models.Index(name="visit_total_at", fields=["span", "at"])]

    def __str__(self) -> str:
        return f"{self.element}: {self.count}"
