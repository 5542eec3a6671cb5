from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from messaging.models import Enterprise


class WorkflowDefinition(models.Model):
    """A published process, case or decision, under the id it has in its file; its revisions hold the files."""

    class Kind(models.TextChoices):
        BPMN = "bpmn", "BPMN"
        CMMN = "cmmn", "CMMN"
        DMN = "dmn", "DMN"

    key = models.CharField(_("key"), max_length=200, primary_key=True)
    enterprise = models.ForeignKey(
        Enterprise, verbose_name=_("enterprise"), null=True, blank=True, on_delete=models.PROTECT, related_name="+"
    )
    """The owner: messages of the definition reach its devices and databases alone. None: shared by all."""
    kind = models.CharField(_("kind"), max_length=4, choices=Kind.choices)
    name = models.CharField(_("name"), max_length=200, blank=True)
    newest = models.PositiveIntegerField(_("latest revision"), default=0)
    created_at = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    class Meta:
        db_table = "workflows_definition"
        verbose_name = _("workflow definition")
        verbose_name_plural = _("workflow definitions")
        ordering = ["key"]

    def __str__(self) -> str:
        return self.name or self.key


class WorkflowRevision(models.Model):
    """One published file, never changed."""

    definition = models.ForeignKey(
        WorkflowDefinition,
        verbose_name=_("definition"),
        on_delete=models.PROTECT,
        related_name="revisions",
        db_index=False,
    )
    number = models.PositiveIntegerField(_("revision"))
    source = models.BinaryField(_("source"))
    """The bytes as they came: the file names its encoding itself."""
    digest = models.CharField(max_length=64, editable=False)
    is_executable = models.BooleanField(_("executable"), default=True)
    """Else it is kept to look at: no instance starts with it."""
    version_tag = models.CharField(_("version tag"), max_length=200, blank=True, default="", editable=False)
    """What the author of the file calls this version: other definitions may call it by this."""
    counted_from = models.DateTimeField(null=True, editable=False)
    """Since when the visits of its elements are counted: what stood somewhere before is not known to their totals."""
    actor = models.CharField(_("who"), max_length=160, blank=True)
    created_at = models.DateTimeField(_("published"), db_default=Now(), editable=False)

    class Meta:
        db_table = "workflows_revision"
        verbose_name = _("revision")
        verbose_name_plural = _("revisions")
        ordering = ["definition", "-number"]
        constraints = [
            models.UniqueConstraint(name="revision_number_once", fields=["definition", "number"]),
            models.UniqueConstraint(name="revision_source_once", fields=["definition", "digest"]),
        ]

    def __str__(self) -> str:
        return f"{self.definition_id} {self.number}"


class EventElement(models.Model):
    """An element of a revision that catches events of a name: the first look-up when an event arrives.

    There is one row for each element of the file, however many instances wait at it.
    """

    revision = models.ForeignKey(
        WorkflowRevision, verbose_name=_("revision"), on_delete=models.CASCADE, related_name="event_elements"
    )
    element = models.CharField(_("element"), max_length=200)
    name = models.CharField(_("event"), max_length=200)
    is_start = models.BooleanField(_("starts instances"), default=False)
    """Only in the newest revision."""
    has_correlation = models.BooleanField(default=False)

    class Meta:
        db_table = "workflows_event_element"
        constraints = [models.UniqueConstraint(name="event_element_once", fields=["revision", "element"])]
        # The follower looks up the names of a batch of events.
        indexes = [models.Index(name="event_element_name", fields=["name"])]

    def __str__(self) -> str:
        return f"{self.name}: {self.element}"


class WorkflowStartTimer(models.Model):
    """A timer that starts instances of the newest revision of a definition."""

    revision = models.ForeignKey(
        WorkflowRevision, verbose_name=_("revision"), on_delete=models.CASCADE, related_name="start_timers"
    )
    element = models.CharField(_("element"), max_length=200)
    due_at = models.DateTimeField(_("due"))
    """Moved forward as the lease while an instance is being started."""
    next_at = models.DateTimeField(_("next"))
    """The planned time: part of the key of the instance it starts, so that none is started twice."""
    left = models.PositiveIntegerField(_("times left"), null=True)
    """None: without an end."""
    interval = models.CharField(_("interval"), max_length=100, blank=True)
    fence = models.BigIntegerField(default=0)

    class Meta:
        db_table = "workflows_start_timer"
        verbose_name = _("start timer")
        verbose_name_plural = _("start timers")
        constraints = [
            models.UniqueConstraint(name="start_timer_once", fields=["revision", "element"]),
            models.CheckConstraint(name="start_timer_lease_is_no_earlier", condition=Q(due_at__gte=F("next_at"))),
        ]
        # Start timers are claimed when due.
        indexes = [models.Index(name="start_timer_due", fields=["due_at"])]

    def __str__(self) -> str:
        return self.element
