import uuid

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from messaging.models.parties import Device, Enterprise, ExchangeDatabase, Subsystem

OFFERED = Q(direction="request", status="waiting", moving_from="", set_aside_at__isnull=True)


class Message(models.Model):
    """One message and where its file belongs; the file follows the row.

    The file is written as a draft of its own, the row is committed, and only then it gets its name: a name in a folder
    always has a row. Whoever moves or deletes the file holds the row all the while, so two are never at one file. It
    lies in `folder`, or still in `moving_from` while a move is owed.
    """

    class Direction(models.TextChoices):
        REQUEST = "request", _("to the database")
        REPLY = "reply", _("to the device")

    class Folder(models.TextChoices):
        MESSAGES = "Messages", pgettext_lazy("folder", "Messages")
        PREPARED = "Prepared", pgettext_lazy("folder", "Prepared")
        LOG = "Log", pgettext_lazy("folder", "Log")
        UNKNOWN = "Unknown", pgettext_lazy("folder", "Unknown")
        ERROR = "Error", pgettext_lazy("folder", "Error")

    class Status(models.TextChoices):
        """What became of it, as its sender reads it."""

        WAITING = "waiting", _("waiting")
        IN_PROCESS = "in_process", _("in process")
        PROCESSED = "processed", _("processed")
        INCORRECT = "incorrect", _("incorrect")
        IN_DOUBT = "in_doubt", _("in doubt")

    enterprise = models.ForeignKey(Enterprise, verbose_name=_("enterprise"), on_delete=models.PROTECT, related_name="+")
    public_id = models.CharField(_("id"), max_length=36)
    direction = models.CharField(_("direction"), max_length=7, choices=Direction.choices)
    database = models.ForeignKey(
        ExchangeDatabase, verbose_name=_("database"), on_delete=models.PROTECT, related_name="messages"
    )
    """Whose folders it lies in: the addressee of a request, the sender of a reply."""
    device = models.ForeignKey(Device, verbose_name=_("device"), on_delete=models.PROTECT, related_name="messages")
    subsystem = models.ForeignKey(Subsystem, verbose_name=_("subsystem"), on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(_("created"))
    accepted_at = models.DateTimeField(_("accepted"))
    reply_to = models.CharField(_("reply to"), max_length=36, blank=True)
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)
    size = models.PositiveBigIntegerField(_("bytes"))
    digest = models.BinaryField(max_length=32)
    """Of what the sender sent: a repeat with the same id must be the same."""
    folder = models.CharField(_("folder"), max_length=8, choices=Folder.choices)
    token = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    """Names the draft that the file is written as: until the rename is on the disk it may still be found there."""
    moving_from = models.CharField(max_length=8, choices=Folder.choices, blank=True, default="")
    arrived_at = models.DateTimeField(_("in the folder since"), db_default=Now())
    file_gone_at = models.DateTimeField(_("file deleted"), null=True)
    """When the file's time in its folder was over, or it was nowhere to be found; the row stays."""
    file_missing_at = models.DateTimeField(_("file missing"), null=True)
    """When the file was found to be in none of its folders; staff may bring it back once it is there again."""
    process = models.UUIDField(_("process"), null=True)
    """The one exchange process that has it now."""
    written_by = models.UUIDField(_("written by"), null=True)
    """The exchange process that wrote this reply."""
    status = models.CharField(_("status"), max_length=10, choices=Status.choices)
    error_text = models.TextField(_("error"), blank=True, default="")
    error_code = models.CharField(_("error code"), max_length=20, blank=True, default="")
    settled_at = models.DateTimeField(_("settled"), null=True)
    updated_at = models.DateTimeField(_("updated"), db_default=Now())
    setbacks = models.PositiveSmallIntegerField(_("setbacks in a row"), default=0)
    """How often running it was left out or deadlocked, or the ERP fell silent with it or rolled it back."""
    is_postponed = models.BooleanField(_("after the others"), default=False)
    isolation = models.PositiveSmallIntegerField(_("isolation"), default=0, db_default=0)
    """How often the ERP failed with it since then: each time the list with it is half as long, until it is alone."""
    set_aside_at = models.DateTimeField(_("set aside"), null=True)
    """Since when staff keep it from being offered; its receipt says why."""

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(name="message_id_once_per_enterprise", fields=["enterprise", "public_id"]),
            models.CheckConstraint(
                name="message_lies_where_its_status_says",
                condition=Q(status__in=["waiting", "in_process"], folder="Messages")
                | Q(direction="reply", status="in_process", folder="Prepared")
                | Q(status="processed", folder="Log")
                | Q(status="incorrect", folder="Error")
                | Q(status="in_doubt", folder__in=["Unknown", "Error"]),
            ),
            models.CheckConstraint(name="message_moves_to_another_folder", condition=~Q(moving_from=F("folder"))),
            models.CheckConstraint(
                name="message_under_way_has_a_process",
                condition=~Q(status__in=["in_process", "in_doubt"]) | Q(process__isnull=False),
            ),
            models.CheckConstraint(
                name="message_missing_file_is_gone",
                condition=Q(file_missing_at__isnull=True) | Q(file_gone_at__isnull=False),
            ),
            models.CheckConstraint(
                name="message_waiting_has_no_process",
                condition=~Q(status="waiting", direction="request") | Q(process__isnull=True),
            ),
            models.CheckConstraint(
                name="message_set_aside_waits",
                condition=Q(set_aside_at__isnull=True) | Q(status="waiting", direction="request"),
            ),
        ]
        indexes = [
            # API_1 takes the oldest of each subsystem of its lane.
            models.Index(
                name="message_queue_of_subsystem",
                fields=["database", "subsystem", "is_postponed", "isolation", "created_at", "id"],
                condition=OFFERED,
            ),
            # API_1 with `senders` takes the oldest of each sender.
            models.Index(
                name="message_queue_of_sender",
                fields=["database", "device", "is_postponed", "isolation", "created_at", "id"],
                condition=OFFERED,
            ),
            # A device fetches what is addressed to it, the oldest first.
            models.Index(
                name="message_for_device",
                fields=["device", "created_at", "id"],
                condition=Q(direction="reply", status="waiting", moving_from=""),
            ),
            # A process finds what it holds, and what it wrote.
            models.Index(name="message_of_process", fields=["process"], condition=Q(process__isnull=False)),
            models.Index(name="message_written_by", fields=["written_by"], condition=Q(written_by__isnull=False)),
            # A receipt lists the replies.
            models.Index(name="message_reply_to", fields=["enterprise", "reply_to"], condition=~Q(reply_to="")),
            # The mover finds the moves that are owed.
            models.Index(name="message_moving", fields=["id"], condition=~Q(moving_from="")),
            # Retention finds the files whose time is over.
            models.Index(
                name="message_ages",
                fields=["arrived_at"],
                condition=Q(file_gone_at__isnull=True, process__isnull=True) & ~Q(folder="Messages"),
            ),
            # The page of missing files lists what was given up for them, newest first.
            models.Index(name="message_missing_file", fields=["-id"], condition=Q(file_missing_at__isnull=False)),
            # Statistics add up what was sent and what was settled in a period.
            models.Index(name="message_accepted", fields=["accepted_at"]),
            models.Index(name="message_settled", fields=["settled_at"], condition=Q(settled_at__isnull=False)),
            # The admin lists what is set aside.
            models.Index(name="message_set_aside", fields=["-id"], condition=Q(set_aside_at__isnull=False)),
            # The admin lists one folder of one database, newest first.
            models.Index(name="message_in_folder", fields=["database", "folder", "-id"]),
            # The trace collects what one call caused.
            models.Index(name="message_correlation", fields=["correlation_id"], condition=~Q(correlation_id="")),
        ]

    def __str__(self) -> str:
        return self.public_id
