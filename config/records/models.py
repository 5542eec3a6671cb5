"""The tables everyone leans on: keys, idempotency records, logs, failed sign-ins, what people set for themselves."""

import re

from django.conf import settings
from django.db import connection, models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from config.access.scopes import Scope, permission
from config.common.text_templates import render_text
from config.records.kinds import kind_title


class AccessKey(models.Model):
    """A bearer key: of a service with scopes, or of one client, device or database, named by `subject`.

    One table for all kinds, so that there is one way to make, find, end and rate a key.
    """

    class Kind(models.TextChoices):
        SERVICE = "service", _("service")
        CLIENT = "client", _("client")
        DEVICE = "device", _("device")
        DATABASE = "database", _("database")

    name = models.CharField(_("name"), max_length=100)
    kind = models.CharField(_("kind"), max_length=10, choices=Kind.choices, default=Kind.SERVICE)
    subject = models.CharField(_("belongs to"), max_length=64, blank=True)
    scopes = models.JSONField(_("scopes"), default=list, blank=True)
    prefix = models.CharField(_("begins with"), max_length=16, unique=True, editable=False)
    digest = models.BinaryField(max_length=32, editable=False)
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    ended_at = models.DateTimeField(_("revoked"), null=True, blank=True, editable=False)

    class Meta:
        verbose_name = _("access key")
        verbose_name_plural = _("access keys")
        ordering = ["-created_at", "-id"]
        permissions = [(permission(scope.value), scope.value) for scope in Scope]
        constraints = [
            models.CheckConstraint(
                name="access_key_subject_unless_service", condition=Q(kind="service") ^ ~Q(subject="")
            ),
            models.CheckConstraint(
                name="access_key_scopes_only_of_service", condition=Q(kind="service") | Q(scopes=[])
            ),
        ]
        indexes = [
            # Rotation and the pages of a client, device or database look up its keys.
            models.Index(name="access_key_subject", fields=["kind", "subject"]),
        ]

    def __str__(self) -> str:
        return self.name


class IdempotencyRecord(models.Model):
    """The first answer to a creating call, kept for its repeats; written in the transaction of the effect."""

    owner = models.CharField(max_length=40)
    key = models.CharField(max_length=64)
    digest = models.BinaryField(max_length=32)
    status = models.PositiveSmallIntegerField(null=True)
    answer = models.BinaryField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(name="idempotency_once_per_owner", fields=["owner", "key"])]
        indexes = [
            # The hourly upkeep deletes what is older than a day.
            models.Index(name="idempotency_age", fields=["created_at"]),
        ]


class ChangeRecord(models.Model):
    """One change of a registered object: who, when, before, after. Outlives the object; never holds a secret."""

    class Action(models.TextChoices):
        CREATED = "created", _("created")
        CHANGED = "changed", _("changed")
        DELETED = "deleted", _("deleted")

    at = models.DateTimeField(_("time"), db_default=Now())
    actor = models.CharField(_("who"), max_length=160)
    action = models.CharField(_("action"), max_length=8, choices=Action.choices)
    kind = models.CharField(_("kind"), max_length=40)
    object_id = models.CharField(_("object"), max_length=64)
    before = models.JSONField(_("before"), null=True)
    after = models.JSONField(_("after"), null=True)
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)
    reverts = models.OneToOneField(
        "self", verbose_name=_("reverts"), null=True, on_delete=models.PROTECT, related_name="reverted_by"
    )

    class Meta:
        verbose_name = _("registry change")
        verbose_name_plural = _("registry changes")
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="change_has_the_sides_of_its_action",
                condition=Q(action="created", before__isnull=True, after__isnull=False)
                | Q(action="changed", before__isnull=False, after__isnull=False)
                | Q(action="deleted", before__isnull=False, after__isnull=True),
            ),
        ]
        indexes = [
            # `GET /sensors/{id}/changes/` and the object's page list the changes of one object, newest first.
            models.Index(name="change_of_object", fields=["kind", "object_id", "-id"]),
            # The trace page collects what one call caused.
            models.Index(name="change_correlation", fields=["correlation_id"], condition=~Q(correlation_id="")),
        ]

    def __str__(self) -> str:
        return f"{kind_title(self.kind)} {self.object_id}"


class SignInAttempt(models.Model):
    """Failed sign-ins of one name from one address within the running window."""

    name = models.CharField(max_length=150)
    address = models.CharField(max_length=45)
    failures = models.PositiveSmallIntegerField(default=0)
    window_ends_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(name="sign_in_once_per_name_and_address", fields=["name", "address"])]
        indexes = [
            # The hourly upkeep deletes windows that have ended.
            models.Index(name="sign_in_window", fields=["window_ends_at"]),
        ]


class LogEntryQuerySet(models.QuerySet["LogEntry"]):
    def saying(self, text: str) -> "LogEntryQuerySet":
        """Select the entries whose English text holds these words, whatever their case."""
        if connection.vendor == "sqlite":  # its LIKE knows the case of ASCII alone
            return self.filter(text__iregex=re.escape(text))
        return self.filter(text__icontains=text)


class LogEntry(models.Model):
    """What operators look up afterwards: steps of exchange processes, file errors, refused calls, alerts, sign-ins."""

    class Level(models.TextChoices):
        INFO = "info", pgettext_lazy("log", "info")
        WARNING = "warning", pgettext_lazy("log", "warning")
        ERROR = "error", pgettext_lazy("log", "error")

    class Kind(models.TextChoices):
        EXCHANGE = "exchange", _("exchange")
        FILE = "file", _("file")
        REFUSED = "refused", _("refused call")
        ALERT = "alert", _("alert")
        WORKFLOW = "workflow", _("workflow")
        ACCOUNT = "account", _("account")

    # The services always set it: pages go by it, and SQLite's own clock writes a time as another text.
    at = models.DateTimeField(_("time"), db_default=Now())
    level = models.CharField(_("level"), max_length=7, choices=Level.choices)
    kind = models.CharField(_("kind"), max_length=20, choices=Kind.choices)
    subject = models.CharField(_("object"), max_length=120, blank=True)
    """What it is about: `process/<id>`, `message/<id>`, `alert/<id>`, `account/<id>`, `call/<method> <route>`."""
    template = models.CharField(max_length=300)
    """In English, with the names of its data as `%(name)s`: `words` has it in the reader's language."""
    data = models.JSONField(_("details"), default=dict)
    text = models.TextField(_("text"))
    """The English words, for the search."""
    count = models.PositiveIntegerField(_("times"), default=1)
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)
    """Of the first of them, where an entry counts several."""
    fold = models.CharField(max_length=64, blank=True, editable=False)
    """Entries of the same fold are one, counted; without a fold each stands alone."""

    objects = LogEntryQuerySet.as_manager()

    class Meta:
        verbose_name = _("log entry")
        verbose_name_plural = _("log")
        ordering = ["-at", "-id"]
        constraints = [
            # Counting: whoever writes a fold finds the row that is there, also when two write at once.
            models.UniqueConstraint(name="log_once_per_fold", fields=["fold"], condition=~Q(fold="")),
            models.CheckConstraint(name="log_level_is_known", condition=Q(level__in=["info", "warning", "error"])),
        ]
        indexes = [
            # `GET /log/` and the admin's list read the newest first, page by page.
            models.Index(name="log_newest", fields=["-at", "-id"]),
            # The page and the calls of one process, message or alert read its own entries in order.
            models.Index(name="log_subject", fields=["subject", "id"]),
            # The trace collects what one call caused.
            models.Index(name="log_correlation", fields=["correlation_id"], condition=~Q(correlation_id="")),
            # The daily upkeep deletes what is old; entries of exchange processes stay with them.
            models.Index(name="log_age", fields=["at"], condition=~Q(kind="exchange")),
        ]

    def __str__(self) -> str:
        return self.words

    @property
    def words(self) -> str:
        return render_text(self.template, self.data)


class UserSettings(models.Model):
    """What a member of staff has set for themselves."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+")
    time_zone = models.CharField(_("time zone"), max_length=64)
    """A name of the IANA database; the first one is the browser's."""
    mails_assigned = models.BooleanField(_("a mail when a task is assigned to me"), default=True)
    mails_overdue = models.BooleanField(_("a mail when a task of mine is overdue"), default=True)

    class Meta:
        default_permissions = ()


class SavedFilter(models.Model):
    """A search with filters that a member of staff has kept for a list of the admin."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    page = models.CharField(max_length=100)
    """The list, as `app.model`."""
    name = models.CharField(_("name"), max_length=60)
    query = models.CharField(max_length=2000)
    """The query string of the list's address, without the page."""

    class Meta:
        default_permissions = ()
        constraints = [models.UniqueConstraint(name="saved_filter_once_per_name", fields=["user", "page", "name"])]


class RunningProcess(models.Model):
    """A process of the product, and when it last said that it runs; one that ends in order takes its row along."""

    node = models.CharField(max_length=120)
    """The host and port: two installations may share a host."""
    name = models.CharField(max_length=40)
    pid = models.PositiveIntegerField()
    started_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            # One that is started again takes over the row of the one that died.
            models.UniqueConstraint(name="running_process_once_per_node", fields=["node", "name"])
        ]

    def __str__(self) -> str:
        return f"{self.name} {self.node}"
