"""Filters and search of the lists of instances and tasks."""

from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from config.admin_base.theme import DropdownFilter
from processes.workflows.ids import find_instance_id
from processes.workflows.models import WorkflowDefinition
from processes.workflows.models.instance import Status

DEFINITIONS_OFFERED = 200


class StatusFilter(DropdownFilter):
    title = _("status")
    parameter_name = "status"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(Status.choices)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(status=self.value()) if self.value() in Status.values else queryset


class DefinitionFilter(DropdownFilter):
    title = _("definition")
    parameter_name = "definition"
    field = "definition"
    """The look-up from the rows of the list."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [(each.pk, str(each)) for each in WorkflowDefinition.objects.all()[:DEFINITIONS_OFFERED]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{self.field: self.value()}) if self.value() else queryset


class TaskDefinitionFilter(DefinitionFilter):
    field = "instance__definition"


def find_typed_id(text: str) -> UUID | None:
    """Return the instance id in what a person typed: an id, a subject, or the public id of a task."""
    return find_instance_id(text.removeprefix("workflow/"))


def match_instance(text: str) -> Q:
    """Return the condition for what a person typed: the id of an instance, else a record."""
    instance_id = find_typed_id(text)
    return Q(record=text) if instance_id is None else Q(pk=instance_id)
