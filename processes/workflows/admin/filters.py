"""Filters and search of the lists of instances and tasks."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from config.admin_base.theme import DropdownFilter, TextFilter
from config.common.text import clean_text
from processes.workflows.engine.definition import NodeKind
from processes.workflows.filters import at_element, at_revision, started_between, with_incident, with_variable
from processes.workflows.ids import find_instance_id
from processes.workflows.models import WorkflowDefinition, WorkflowRevision
from processes.workflows.models.instance import Status
from processes.workflows.services.definitions.library import UnknownDefinition, get_compiled

DEFINITIONS_OFFERED = 200
REVISIONS_OFFERED = 50
ELEMENTS_OFFERED = 300
LONGEST_NAME = 200
PASSED_AT_ONCE = (NodeKind.START, NodeKind.END, NodeKind.THROW, NodeKind.BOUNDARY, NodeKind.EXCLUSIVE)
"""No instance stands at one of these."""


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


class RevisionFilter(DropdownFilter):
    """Offered once a definition is chosen."""

    title = _("revision")
    parameter_name = "revision"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        definition = request.GET.get("definition", "")
        if not definition:
            return []
        numbers = WorkflowRevision.objects.filter(definition=definition).order_by("-number")
        return [(str(number), number) for number in numbers.values_list("number", flat=True)[:REVISIONS_OFFERED]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        number = self.value() or ""
        if not (number.isascii() and number.isdigit() and len(number) < 10):
            return queryset
        return at_revision(queryset, request.GET.get("definition", ""), int(number))


class ElementFilter(DropdownFilter):
    """Offered once a definition is chosen: the elements of its revision at which an instance may stand."""

    title = _("stands at")
    parameter_name = "element"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        chosen = request.GET.get(self.parameter_name, "")[:LONGEST_NAME]
        found = dict(_list_elements(request))
        if chosen:
            found.setdefault(chosen, chosen)  # of a definition that calls others there are more
        return list(found.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return at_element(queryset, self.value() or "") if self.value() else queryset


def _list_elements(request: HttpRequest) -> list[tuple[str, str]]:
    key, number = request.GET.get("definition", ""), request.GET.get("revision", "")
    revisions = WorkflowRevision.objects.filter(definition=key, is_executable=True)
    revisions = revisions.exclude(definition__kind=WorkflowDefinition.Kind.DMN)
    if number.isascii() and number.isdigit() and len(number) < 10:
        revisions = revisions.filter(number=int(number))
    newest = revisions.order_by("-number").values_list("number", flat=True).first() if key else None
    if newest is None:
        return []
    try:
        nodes = get_compiled(key, newest).nodes.values()
    except UnknownDefinition:
        return []
    standing = [node for node in nodes if node.kind not in PASSED_AT_ONCE]
    named = [(node.id, node.name or node.id) for node in standing[:ELEMENTS_OFFERED]]
    return sorted(named, key=lambda pair: pair[1].casefold())


class IncidentFilter(TextFilter):
    title = _("incident (part of its text)")
    parameter_name = "incident"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        text = clean_text((self.value() or "").strip(), LONGEST_NAME)
        return with_incident(queryset, text) if text else queryset


class VariableFilter(TextFilter):
    title = _("variable (name=value)")
    parameter_name = "variable"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        typed = (self.value() or "").strip()
        return with_variable(queryset, typed) if typed else queryset


class AgeFilter(DropdownFilter):
    title = _("age")
    parameter_name = "age"
    AGES = {
        "hour": timedelta(hours=1),
        "day": timedelta(days=1),
        "week": timedelta(days=7),
        "month": timedelta(days=30),
    }

    WORDS = {
        "-hour": _("started within an hour"),
        "-day": _("started within a day"),
        "hour": _("older than an hour"),
        "day": _("older than a day"),
        "week": _("older than a week"),
        "month": _("older than 30 days"),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return list(self.WORDS.items())

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        chosen = self.value() or ""
        age = self.AGES.get(chosen.removeprefix("-"))
        if age is None:
            return queryset
        since = timezone.now() - age
        if chosen.startswith("-"):
            return started_between(queryset, since, None)
        return started_between(queryset, None, since)
