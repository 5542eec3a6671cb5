"""What this app adds to the trace of a correlation id: versions and effects."""

from collections.abc import Iterator

from django.urls import reverse

from config.audit.trace import TraceStep
from processes.workflows.ids import public_id
from processes.workflows.models import WorkflowEffect, WorkflowVersion


def trace_versions(correlation_id: str, most: int) -> Iterator[TraceStep]:
    rows = WorkflowVersion.objects.filter(correlation_id=correlation_id).defer("skeleton", "bodies")
    for version in rows.select_related("instance").order_by("at", "pk")[:most]:
        instance = version.instance
        data = {
            "definition": instance.definition_id,
            "record": instance.record,
            "number": version.number,
            "parent": version.parent,
            "actor": version.actor,
        }
        summary = f"{instance.definition_id} {version.number}: {version.cause}"
        page = reverse("admin:workflows_instance_version", args=[instance.pk, version.number])
        yield TraceStep(version.at, "workflow", str(instance.pk), summary, version.status, data, page)


def trace_effects(correlation_id: str, most: int) -> Iterator[TraceStep]:
    rows = WorkflowEffect.objects.filter(correlation_id=correlation_id)
    for effect in rows.order_by("at", "pk")[:most]:
        data = {"instance": str(effect.instance_id), "version": effect.version, "name": effect.name}
        summary = f"{effect.kind} {effect.name or effect.element}"
        page = reverse("admin:workflows_instance_version", args=[effect.instance_id, effect.version])
        yield TraceStep(
            effect.at, "effect", public_id(effect.instance_id, effect.local), summary, effect.status, data, page
        )
