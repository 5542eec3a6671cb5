from django.db import models
from django.utils.translation import gettext_lazy as _

from processes.workflows.models.definition import WorkflowDefinition


class WorkflowScenarios(models.Model):
    """What a definition is expected to do, played before each of its revisions is published."""

    definition = models.OneToOneField(
        WorkflowDefinition,
        verbose_name=_("definition"),
        primary_key=True,
        on_delete=models.CASCADE,
        related_name="scenarios",
    )
    body = models.TextField(_("scenarios"))
    """A JSON list; `services/definitions/scenarios.py` knows its shape."""
    actor = models.CharField(_("who"), max_length=160, blank=True)
    saved_at = models.DateTimeField(_("saved"))

    class Meta:
        db_table = "workflows_scenarios"
        verbose_name = _("scenarios")
        verbose_name_plural = _("scenarios")

    def __str__(self) -> str:
        return str(self.definition_id)
