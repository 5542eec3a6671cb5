"""The handler `alert`: tell staff. Inputs: `title`, and whatever else is to be read with it."""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext_noop

from config.common.text import is_storable
from notifications.services.alerts import raise_alert
from processes.workflows.ids import subject_of
from processes.workflows.models import WorkflowEffect, WorkflowInstance
from processes.workflows.services.refusals import EffectRefused, mark_dispatched

KIND = "workflow.alert"
TITLE = gettext_noop("%(title)s (workflow %(definition)s of %(record)s)")


def dispatch_alert(effect: WorkflowEffect, instance: WorkflowInstance, inputs: dict[str, Any]) -> None:
    """Raise an alert; the same element of the same instance again is the same alert, counted."""
    title = str(inputs.get("title") or effect.name or effect.element)
    if not is_storable(inputs):
        raise EffectRefused("No database keeps the character NUL.")
    named = {"title": title[:200], "definition": instance.definition_id, "record": instance.record or str(instance.pk)}
    with transaction.atomic():
        mark_dispatched(effect)
        subject = f"{subject_of(instance.pk)}/{effect.element}"[:120]
        raise_alert(KIND, subject, TITLE, {**inputs, **named, "instance": str(instance.pk)})
