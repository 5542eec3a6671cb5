from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _


class Hearing(models.Model):
    """Whether our own side hears: one row. Silence is a sensor's fault only while this says that we listened."""

    heard_at = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(name="hearing_is_one_row", condition=Q(id=1))]

    def __str__(self) -> str:
        return str(self.heard_at)


class DeafSpan(models.Model):
    """A time in which no signal could have reached us: it does not count as silence."""

    from_at = models.DateTimeField(_("from"))
    to_at = models.DateTimeField(_("to"))

    class Meta:
        indexes = [
            # The sweep adds up the spans since a sensor was last seen.
            models.Index(name="deaf_span_to", fields=["to_at"]),
        ]

    def __str__(self) -> str:
        return f"{self.from_at} – {self.to_at}"


class Probe(models.Model):
    """A message of our own that went through the queue of signals: everything sent before it has been received."""

    sent_at = models.DateTimeField(primary_key=True)
    passed_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return str(self.sent_at)


class ConsumerMark(models.Model):
    """One consumer of signals: all that it had received before `heard_at` is committed."""

    consumer = models.CharField(max_length=100, primary_key=True)
    heard_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.consumer
