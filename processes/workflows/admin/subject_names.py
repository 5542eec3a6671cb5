"""Name workflow instances on the pages and in the messages of notifications."""

from collections.abc import Collection, Iterable
from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext

from notifications.names import Named, Names, parts_of, register_names
from processes.workflows.models import WorkflowInstance
from processes.workflows.subjects import PREFIX, say_record


def name_subjects(subjects: Collection[str]) -> dict[str, Named]:
    """Return the names and pages of instances, also for the subjects of their elements."""
    ids: dict[str, UUID] = {}
    for subject, rest in parts_of(subjects, PREFIX).items():
        try:
            ids[subject] = UUID(rest.partition("/")[0])
        except ValueError:
            continue
    rows = WorkflowInstance.objects.filter(pk__in=set(ids.values())) if ids else WorkflowInstance.objects.none()
    known = {pk: names for pk, *names in rows.values_list("pk", "definition__name", "definition_id", "record")}
    return {subject: _name(pk, known.get(pk)) for subject, pk in ids.items()}


def name_instances(ids: Iterable[UUID]) -> dict[UUID, str]:
    """Return what instances are called: their definition and what they are about, or the end of their id."""
    rows = WorkflowInstance.objects.filter(pk__in=list(ids)).select_related("definition")
    return {row.pk: f"{row.definition} · {say_record(row.record) or str(row.pk)[-12:]}" for row in rows}


def _name(pk: UUID, known: list[str] | None) -> Named:
    page = reverse("admin:workflows_workflowinstance_change", args=[pk])
    if known is None:
        return Named(gettext("workflow instance %(instance)s") % {"instance": pk}, page)
    name, definition, record = known
    words = gettext("workflow “%(name)s” of %(record)s") if record else gettext("workflow “%(name)s”")
    return Named(words % {"name": name or definition, "record": say_record(record)}, page)


register_names(Names(name_subjects))
