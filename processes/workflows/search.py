"""What the search of the admin finds here: instances by id or record, definitions by key or name."""

from itertools import chain

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.timezone import localtime

from config.admin_base.search import Found, SearchHit, SearchText, contains, first_rows
from processes.workflows.ids import find_instance_id
from processes.workflows.models import WorkflowDefinition, WorkflowInstance


def find_instances(asked: SearchText, most: int) -> Found:
    """Return the instance of this id, also as ids of its tasks begin, then those of this record, newest first."""
    rows = WorkflowInstance.objects.select_related("definition")
    named = find_instance_id(asked.text)
    bounds = asked.uuid_range if named is None else (named, named)
    by_id = () if bounds is None else rows.filter(pk__range=bounds).order_by("pk")[:most]
    of_record = rows.filter(record=asked.text).order_by("-pk")[:most]
    found = {instance.pk: instance for instance in chain(by_id, of_record)}
    return Found([_instance_hit(instance) for instance in list(found.values())[:most]])


def find_definitions(asked: SearchText, most: int) -> Found:
    if not asked.is_part:
        return Found()
    rows = WorkflowDefinition.objects.filter(contains("key", asked.text) | contains("name", asked.text))
    found, is_whole = first_rows(rows, most)
    hits = [
        SearchHit(
            str(definition),
            definition.key,
            reverse("admin:workflows_workflowdefinition_change", args=[definition.pk]),
            is_exact=definition.key == asked.text,
        )
        for definition in found
    ]
    return Found(hits, is_whole)


def _instance_hit(instance: WorkflowInstance) -> SearchHit:
    started = date_format(localtime(instance.started_at), "SHORT_DATETIME_FORMAT")
    words = f"{instance.definition} · {instance.get_status_display()} · {started}"
    page = reverse("admin:workflows_workflowinstance_change", args=[instance.pk])
    return SearchHit(instance.record or str(instance.pk), words, page, is_exact=True)
