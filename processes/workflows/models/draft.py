import uuid

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from processes.workflows.models.definition import WorkflowDefinition


class WorkflowDraft(models.Model):
    """A drawing that is not published yet: whatever its author has drawn so far, runnable or not."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    """Made by the page before anything is saved, so that a repeated first save finds its row."""
    definition = models.ForeignKey(
        WorkflowDefinition,
        verbose_name=_("definition"),
        null=True,
        blank=True,
        on_delete=models.CASCADE,
        related_name="drafts",
    )
    """The one it was begun from. None: drawn from nothing."""
    revision = models.PositiveIntegerField(_("revision"), null=True, blank=True)
    name = models.CharField(_("name"), max_length=200, blank=True)
    source = models.TextField(_("source"))
    version = models.PositiveIntegerField(default=1)
    """Counts what was saved: of two windows that draw in one draft, the second is told."""
    actor = models.CharField(_("who"), max_length=160, blank=True)
    saved_at = models.DateTimeField(_("saved"))

    class Meta:
        db_table = "workflows_draft"
        verbose_name = _("draft")
        verbose_name_plural = _("drafts")
        ordering = ["-saved_at"]
        constraints = [
            models.CheckConstraint(
                name="draft_revision_of_a_definition", condition=Q(revision=None) | Q(definition__isnull=False)
            )
        ]
        # The list shows the newest first.
        indexes = [models.Index(name="draft_saved", fields=["-saved_at"])]

    def __str__(self) -> str:
        return self.name or str(self.id)
