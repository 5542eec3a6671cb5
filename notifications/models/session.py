from datetime import datetime

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

OWN_THEMES_FROM = 2_000_000_000
"""Numbers from here on are the product's own themes; partners choose among those below."""


class Theme(models.Model):
    """A kind of sessions: who repeats them, how often, how long. Its number is its name."""

    number = models.PositiveIntegerField(_("theme"), primary_key=True)
    timeout = models.FloatField(
        _("timeout, seconds"),
        default=60,
        help_text=_(
            "A session that nobody uses for this long is saved; a handler that is silent for this long has failed."
        ),
    )
    repeat_limit = models.PositiveIntegerField(
        _("attempt limit"), default=10, help_text=_("A session is exhausted after this many failed attempts.")
    )
    length_limit = models.PositiveIntegerField(
        _("length limit, bytes"), default=65_536, help_text=_("Limit for the compact JSON of all records of a session.")
    )
    delay = models.FloatField(_("delay, seconds"), default=60)
    jitter = models.FloatField(
        _("jitter, seconds"),
        default=0,
        help_text=_("A random time up to this long is added to the delay after a failed attempt."),
    )
    handler = models.CharField(
        _("handler"), max_length=80, blank=True, help_text=_("The name of a handler registered in the code.")
    )
    url = models.CharField(_("URL"), max_length=500, blank=True)
    secret = models.BinaryField(null=True)
    """What signs the calls of the URL, encrypted; after a rotation the old one signs too."""
    old_secret = models.BinaryField(null=True)
    old_secret_until = models.DateTimeField(null=True)
    failures = models.PositiveIntegerField(default=0, db_default=0, editable=False)
    """Repeats in a row without an answer. The database has the default too, for processes of the release before."""
    opened_at = models.DateTimeField(null=True, editable=False)
    """Since when its breaker is open: its sessions are repeated one at a time."""

    class Meta:
        verbose_name = _("theme")
        verbose_name_plural = _("session themes")
        ordering = ["number"]
        constraints = [
            models.CheckConstraint(
                name="theme_has_a_handler_or_a_url",
                condition=(Q(handler="") & ~Q(url="")) | (~Q(handler="") & Q(url="")),
            ),
            models.CheckConstraint(
                name="theme_url_has_a_secret",
                condition=Q(url="", secret__isnull=True) | (~Q(url="") & Q(secret__isnull=False)),
            ),
            models.CheckConstraint(
                name="theme_old_secret_has_an_end",
                condition=Q(old_secret__isnull=True, old_secret_until__isnull=True)
                | Q(secret__isnull=False, old_secret__isnull=False, old_secret_until__isnull=False),
            ),
            models.CheckConstraint(
                name="theme_numbers_make_sense",
                condition=Q(timeout__gt=0, repeat_limit__gte=1, length_limit__gte=2, delay__gte=0, jitter__gte=0),
            ),
        ]

    def __str__(self) -> str:
        return str(self.number)


class RepeatSession(models.Model):
    """An ordered list of records that somebody will try again later, under a theme.

    `change` rises with every write and with every claim for a repeat: callers name it to show that they know the
    newest state, and it is the fence that voids what a late worker writes. `due_at` is the repeat time of a saved
    session, and of an active one the end of the theme's timeout or of the worker's lease.
    """

    class Status(models.TextChoices):
        ACTIVE = "active", pgettext_lazy("session", "active")
        SAVED = "saved", pgettext_lazy("session", "saved")
        EXHAUSTED = "exhausted", pgettext_lazy("session", "exhausted")

    theme = models.ForeignKey(
        Theme, verbose_name=_("theme"), on_delete=models.PROTECT, related_name="sessions", db_index=False
    )
    change = models.BigIntegerField(pgettext_lazy("session", "change"), default=1)
    status = models.CharField(_("status"), max_length=9, choices=Status.choices, default=Status.ACTIVE)
    is_repeating = models.BooleanField(_("being repeated"), default=False)
    """Whether a worker has it: if the lease ends, that worker is dead and the repeat counts as failed."""
    length = models.PositiveIntegerField(_("length, bytes"))
    record_count = models.PositiveIntegerField(_("records"))
    repeats = models.PositiveIntegerField(_("failed attempts"), default=0)
    save_number = models.BigIntegerField(_("order of saving"), default=0)
    due_at = models.DateTimeField(pgettext_lazy("session", "due"), null=True)
    correlation_id = models.CharField(_("correlation id"), max_length=64, blank=True)
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("repeat session")
        verbose_name_plural = _("repeat sessions")
        ordering = ["-id"]
        constraints = [
            models.CheckConstraint(
                name="session_due_unless_exhausted",
                condition=Q(status="exhausted", due_at__isnull=True)
                | (~Q(status="exhausted") & Q(due_at__isnull=False)),
            ),
            models.CheckConstraint(
                name="session_repeated_only_while_active", condition=Q(is_repeating=False) | Q(status="active")
            ),
            models.CheckConstraint(
                name="session_saved_in_an_order", condition=~Q(status="saved") | Q(save_number__gt=0)
            ),
        ]
        indexes = [
            # The scheduler finds the nearest repeat time, and claims what is due: by time, then by order of saving.
            models.Index(name="session_to_repeat", fields=["due_at", "save_number"], condition=Q(status="saved")),
            # The same theme by theme, while one of them is slow or does not answer.
            models.Index(
                name="session_theme_to_repeat",
                fields=["theme", "due_at", "save_number"],
                condition=Q(status="saved"),
            ),
            # It finds the sessions whose caller or worker has fallen silent. Lists of active sessions read it too.
            models.Index(name="session_to_lapse", fields=["due_at"], condition=Q(status="active")),
            # Lists of what needs a person; whether a theme has any left.
            models.Index(name="session_exhausted", fields=["theme", "-id"], condition=Q(status="exhausted")),
            # Lists of a theme, newest first.
            models.Index(name="session_theme", fields=["theme", "-id"]),
            # The trace collects what one call caused.
            models.Index(name="session_correlation", fields=["correlation_id"], condition=~Q(correlation_id="")),
        ]

    def __str__(self) -> str:
        return f"{self.theme_id}/{self.pk}"

    @property
    def repeat_at(self) -> datetime | None:
        return self.due_at if self.status == self.Status.SAVED else None


class SessionRecord(models.Model):
    """One record, written once: an append adds rows and touches none of those that are there."""

    pk = models.CompositePrimaryKey("session", "position")
    session = models.ForeignKey(
        RepeatSession, verbose_name=_("session"), on_delete=models.CASCADE, related_name="records", db_index=False
    )
    position = models.PositiveIntegerField(_("position"))
    body = models.TextField(_("record"))
    """Compact JSON."""

    class Meta:
        verbose_name = _("record")
        verbose_name_plural = _("records")

    def __str__(self) -> str:
        return f"{self.session_id}: {self.position}"


class SessionStep(models.Model):
    """One line of a session's timeline; it goes when the session goes."""

    class What(models.TextChoices):
        APPENDED = "appended", _("records appended")
        REWRITTEN = "rewritten", _("records rewritten")
        SAVED = "saved", pgettext_lazy("session", "saved")
        LAPSED = "lapsed", _("saved: nobody touched it")
        FAILED = "failed", _("repeat failed")
        DIED = "died", _("repeat failed: its worker died")
        EXHAUSTED = "exhausted", _("repeat limit reached")
        STOPPED = "stopped", _("saved: the worker was stopped")
        REVIVED = "revived", _("revived")
        MOVED = "moved", _("repeat time moved")

    session = models.ForeignKey(
        RepeatSession, verbose_name=_("session"), on_delete=models.CASCADE, related_name="steps", db_index=False
    )
    at = models.DateTimeField(_("time"), db_default=Now(), editable=False)
    what = models.CharField(_("what"), max_length=10, choices=What.choices)
    detail = models.CharField(_("details"), max_length=300, blank=True)
    verdicts = models.JSONField(_("verdicts"), default=list)

    class Meta:
        verbose_name = _("step")
        verbose_name_plural = _("steps")
        ordering = ["id"]
        indexes = [
            # The timeline of a session.
            models.Index(name="step_session", fields=["session", "id"]),
        ]

    def __str__(self) -> str:
        return f"{self.session_id}: {self.what}"
