from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _


class WayIn(models.Model):
    """When a way in for signals was last found open. Silence is a sensor's fault only while all are.

    The queue is one, the calls of each web server another: a sensor may know one of the servers alone. All times of
    this module are steady ones (`SteadyClock`).
    """

    QUEUE = "queue"
    CALLS = "calls/"
    """The names of web servers begin with it: `calls/<host>:<port>`."""

    name = models.CharField(max_length=126, primary_key=True)
    heard_at = models.DateTimeField()
    proven_from = models.DateTimeField(null=True)
    """Of the queue: probes that were sent earlier prove nothing, a consumer has given messages back since."""

    def __str__(self) -> str:
        return self.name


class SteadyClock(models.Model):
    """How far steady time is ahead of the database's clock: one row.

    Silence is measured in steady time, which never goes back: whenever the database's clock is set back, this grows.
    """

    ahead_ms = models.BigIntegerField(default=0)

    class Meta:
        constraints = [models.CheckConstraint(name="steady_clock_is_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return f"{self.ahead_ms} ms"


class DeafSpan(models.Model):
    """An outage: a time in which no signal could be received. It does not count as silence."""

    from_at = models.DateTimeField(_("from"))
    to_at = models.DateTimeField(_("to"))

    class Meta:
        indexes = [
            # The sweep adds up the outages since a sensor was last seen.
            models.Index(name="deaf_span_to", fields=["to_at"]),
        ]

    def __str__(self) -> str:
        return f"{self.from_at} – {self.to_at}"


class Probe(models.Model):
    """A message of Postern's own that went through the queue: all sent before it had left the queue by `passed_at`."""

    sent_at = models.DateTimeField(primary_key=True)
    passed_at = models.DateTimeField()

    def __str__(self) -> str:
        return str(self.sent_at)


class ConsumerMark(models.Model):
    """One connection of a consumer: all that the broker had handed to it before `heard_at` is committed."""

    consumer = models.CharField(max_length=100, primary_key=True)
    heard_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.consumer
