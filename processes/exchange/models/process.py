import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from messaging.models import ExchangeDatabase, Message


class ExchangeProcess(models.Model):
    """One exchange with an ERP database, from API_1 to the last file in its place.

    `due_at` is when to look at it next: the end of its patience while it waits for the ERP, at once while files are to
    be moved, never when there is nothing to do.
    """

    class Status(models.TextChoices):
        STARTED = "STARTED", pgettext_lazy("exchange", "started")
        READY_TO_COMMIT = "READY_TO_COMMIT", _("ready to commit")
        CLEANUP = "CLEANUP", _("moving files")
        FAILED = "FAILED", pgettext_lazy("exchange", "failed")
        DONE = "DONE", pgettext_lazy("exchange", "done")
        TIMED_OUT = "TIMED_OUT", _("timed out")
        INTERRUPTED = "INTERRUPTED", _("interrupted")
        ROLLED_BACK = "ROLLED_BACK", _("rolled back")
        IN_DOUBT = "IN_DOUBT", _("in doubt")

    class Decision(models.TextChoices):
        NONE = "", _("none")
        COMMITTED = "committed", _("committed")
        NOT_COMMITTED = "not_committed", _("not committed")

    id = models.UUIDField(_("id"), primary_key=True, default=uuid.uuid4, editable=False)
    database = models.ForeignKey(
        ExchangeDatabase, verbose_name=_("database"), on_delete=models.PROTECT, related_name="processes"
    )
    lane = models.JSONField(_("subsystems"), default=list)
    """The subsystems asked for; none means all."""
    status = models.CharField(_("status"), max_length=15, choices=Status.choices, default=Status.STARTED)
    decision = models.CharField(_("decision"), max_length=13, choices=Decision.choices, blank=True, default="")
    started_at = models.DateTimeField(_("started"))
    ready_at = models.DateTimeField(_("ready to commit since"), null=True)
    ended_at = models.DateTimeField(pgettext_lazy("exchange", "ended"), null=True)
    prepared = models.BinaryField(max_length=32, null=True)
    """The digest of what API_3 sent: a repeat must be the same."""
    replies = models.JSONField(_("replies"), default=list)
    """The ids of what it wrote; they stay readable when the replies themselves are deleted."""
    request_id = models.CharField(_("request id"), max_length=64, blank=True, default="")
    """The ERP's own id of the API_1 that began it: by it a lost answer is asked for again."""
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)
    due_at = models.DateTimeField(null=True)
    fence = models.BigIntegerField(default=0)

    class Meta:
        verbose_name = _("exchange process")
        verbose_name_plural = _("exchange processes")
        ordering = ["-started_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                name="process_started_once_per_request",
                fields=["database", "request_id"],
                condition=Q(status="STARTED") & ~Q(request_id=""),
            ),
            models.CheckConstraint(
                name="process_ready_at_a_time",
                condition=~Q(status__in=["READY_TO_COMMIT", "CLEANUP", "FAILED", "DONE", "IN_DOUBT"])
                | Q(ready_at__isnull=False, prepared__isnull=False),
            ),
            models.CheckConstraint(
                name="process_ended_at_a_time",
                condition=Q(status__in=["STARTED", "READY_TO_COMMIT", "CLEANUP", "FAILED"], ended_at__isnull=True)
                | (~Q(status__in=["STARTED", "READY_TO_COMMIT", "CLEANUP", "FAILED"]) & Q(ended_at__isnull=False)),
            ),
            models.CheckConstraint(
                name="process_finishes_what_was_committed",
                condition=~Q(status__in=["CLEANUP", "FAILED", "DONE"]) | Q(decision="committed"),
            ),
            models.CheckConstraint(
                name="process_undecided_while_in_doubt",
                condition=~Q(status__in=["STARTED", "READY_TO_COMMIT", "IN_DOUBT", "TIMED_OUT", "INTERRUPTED"])
                | Q(decision=""),
            ),
            models.CheckConstraint(
                name="process_waits_with_a_deadline",
                condition=~Q(status__in=["STARTED", "READY_TO_COMMIT"]) | Q(due_at__isnull=False),
            ),
        ]
        indexes = [
            # API_1 looks for live processes whose lane overlaps; the dashboard shows them.
            models.Index(
                name="process_live",
                fields=["database"],
                condition=Q(status__in=["STARTED", "READY_TO_COMMIT", "CLEANUP", "FAILED"]),
            ),
            # Time-outs and file moves are claimed when due.
            models.Index(name="process_due", fields=["due_at"], condition=Q(due_at__isnull=False)),
            # The in-doubt page and API_1 with `committed` look for what is not settled.
            models.Index(name="process_in_doubt", fields=["database", "-started_at"], condition=Q(status="IN_DOUBT")),
            # A database lists its processes, newest first; the admin lists all.
            models.Index(name="process_of_database", fields=["database", "-started_at", "-id"]),
            models.Index(name="process_newest", fields=["-started_at", "-id"]),
            # The trace collects what one call caused.
            models.Index(name="process_correlation", fields=["correlation_id"], condition=~Q(correlation_id="")),
        ]

    def __str__(self) -> str:
        return str(self.id)


class ProcessMessage(models.Model):
    """A message in the list of a process, with what the ERP said of it. Stays when the process has ended."""

    class Result(models.TextChoices):
        NONE = "", _("none yet")
        PROCESSED = "PROCESSED", _("processed")
        DEADLOCK = "PROCESSED_DEADLOCK", _("deadlock")
        INCORRECT = "PROCESSED_INCORRECT", _("incorrect")

    process = models.ForeignKey(ExchangeProcess, on_delete=models.PROTECT, related_name="entries")
    message = models.ForeignKey(Message, on_delete=models.PROTECT, related_name="entries")
    place = models.PositiveIntegerField(_("place"))
    is_left_out = models.BooleanField(_("left out"), default=False)
    result = models.CharField(_("result"), max_length=19, choices=Result.choices, blank=True, default="")
    error_text = models.TextField(_("error"), blank=True, default="")
    error_code = models.BigIntegerField(_("error code"), null=True)
    prepared_at = models.DateTimeField(null=True)
    """When the ERP said so."""

    class Meta:
        verbose_name = _("message of a process")
        verbose_name_plural = _("messages of a process")
        ordering = ["process", "place"]
        constraints = [
            models.UniqueConstraint(name="process_message_once", fields=["process", "message"]),
            models.CheckConstraint(
                name="process_message_incorrect_says_why",
                condition=~Q(result="PROCESSED_INCORRECT") | ~Q(error_text=""),
            ),
        ]
        indexes = [
            # Statistics count the deadlocks of a period.
            models.Index(
                name="process_message_deadlocks", fields=["prepared_at"], condition=Q(result="PROCESSED_DEADLOCK")
            ),
        ]
