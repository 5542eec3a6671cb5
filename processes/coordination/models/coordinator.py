"""The Coordinator's tables: the Writer's events that it knows of, and the progress of each reader."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from processes.coordination.models.shared import EventRow, PayloadRow, ended
from processes.coordination.protocol.statuses import FINAL


class WriterEvent(EventRow):
    id = models.BigIntegerField(_("event"), primary_key=True)
    """That of the Writer's event."""
    position = models.BigIntegerField(_("position"), unique=True)
    is_undone = models.BooleanField(default=True)
    touched = models.JSONField(default=list)
    """Keys of the rows that it depends on: events that share one keep their order."""
    clock = models.FloatField(null=True)
    """The Coordinator's clock of time in which all roles were alive, when this event was activated."""
    is_waiting = models.BooleanField(default=False)
    """Refused or late, and not to be undone: it keeps its rows, and gives its turn to others."""
    is_behind = models.BooleanField(default=False)
    """It touches a row of one that waits, or of one behind such: out of the line until that one has ended."""
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    again_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(_("ended"), null=True)

    class Meta:
        verbose_name = _("change set")
        verbose_name_plural = _("change sets")
        ordering = ["-id"]
        indexes = [
            # Decisions and deadlines look at what is under way, in order.
            models.Index(name="writer_event_under_way", fields=["position"], condition=~ended(*FINAL)),
            # Activation looks at the line, which those that wait do not stand in.
            models.Index(
                name="writer_event_in_line",
                fields=["position"],
                condition=~ended(*FINAL) & Q(is_waiting=False, is_behind=False),
            ),
            # Publishing looks for rows that are not published.
            models.Index(name="writer_event_unpublished", fields=["position"], condition=Q(is_published=False)),
            # What has stayed in one status for long is published again.
            models.Index(
                name="writer_event_late", fields=["again_at"], condition=Q(again_at__isnull=False, is_waiting=False)
            ),
            # Those that wait are asked about again, each in its turn.
            models.Index(
                name="writer_event_waiting", fields=["again_at"], condition=Q(again_at__isnull=False, is_waiting=True)
            ),
        ]

    def __str__(self) -> str:
        return str(self.pk)


class HeldRow(models.Model):
    """A row that an event out of the line has reserved: no later event that touches it may begin."""

    key = models.TextField()
    writer_event = models.ForeignKey(WriterEvent, on_delete=models.CASCADE, related_name="+")
    position = models.BigIntegerField()
    """That of the event."""

    class Meta:
        constraints = [models.UniqueConstraint(name="held_row_once_per_event", fields=["key", "writer_event"])]

    def __str__(self) -> str:
        return self.key


class WriterEventPayload(PayloadRow):
    id = models.BigIntegerField(primary_key=True)
    writer_event = models.ForeignKey(WriterEvent, on_delete=models.CASCADE, related_name="payloads")
    prepared_by = models.BigIntegerField(default=0)
    """The readers that have it, as the sum of their bits; and those that have processed it."""
    processed_by = models.BigIntegerField(default=0)

    class Meta:
        indexes = [
            # Step 9 looks for what is saved here and not yet said so.
            models.Index(
                name="writer_payload_unpublished",
                fields=["id"],
                condition=Q(is_published=False, app_event_payload_status_id=1),
            ),
        ]


class Progress(models.IntegerChoices):
    """The progress of a reader with an event; it only grows, unless the reader has lost the event."""

    WAITING = 0
    PREPARING = 1
    PROCESSING = 2
    PROCESSED = 3
    COMMITTED = 4
    CANCELED = 5


class WriterEventReader(models.Model):
    class Verdict(models.TextChoices):
        WAITING = "waiting", pgettext_lazy("verdict", "waiting")
        PROCESSED = "processed", pgettext_lazy("verdict", "processed")
        REFUSED = "refused", pgettext_lazy("verdict", "refused")
        COMMITTED = "committed", pgettext_lazy("verdict", "committed")
        CANCELED = "canceled", pgettext_lazy("verdict", "cancelled")

    writer_event = models.ForeignKey(WriterEvent, on_delete=models.CASCADE, related_name="readers")
    name = models.CharField(_("reader"), max_length=50)
    bit = models.BigIntegerField()
    progress = models.IntegerField(choices=Progress.choices, default=Progress.WAITING)
    verdict = models.CharField(_("verdict"), max_length=9, choices=Verdict.choices, default=Verdict.WAITING)
    reason = models.CharField(_("reason"), max_length=500, blank=True)
    answered_at = models.DateTimeField(_("answered"), null=True)
    ended_at = models.DateTimeField(_("ended"), null=True)

    class Meta:
        constraints = [models.UniqueConstraint(name="reader_once_per_event", fields=["writer_event", "name"])]
        indexes = [
            # The lag of a reader is the age of the oldest event it has not ended.
            models.Index(name="reader_not_ended", fields=["name", "writer_event"], condition=Q(ended_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return self.name


class RoleLife(models.Model):
    """When the Coordinator last heard that a role is alive, by its own clock."""

    name = models.CharField(_("role"), max_length=60, primary_key=True)
    seen_at = models.DateTimeField(_("seen"))
    is_silent = models.BooleanField(default=False)
    """There is an open alert that it does not answer."""

    def __str__(self) -> str:
        return self.name


class CoordinatorState(models.Model):
    """One row, whose lock lets one coordinator act at a time."""

    known_position = models.BigIntegerField(default=0)
    """Every event up to this position is known."""
    clock = models.FloatField(default=0)
    """Seconds in which all roles were alive, so far."""
    ticked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(name="coordinator_state_is_one_row", condition=Q(id=1))]
