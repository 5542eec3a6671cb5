"""By what the instances of a batch were chosen, and what is to be done to them, as people say it."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from processes.workflows.admin.drawings import get_element_names
from processes.workflows.admin.filters import AgeFilter
from processes.workflows.admin.values import show_values
from processes.workflows.models import WorkflowBatch, WorkflowDefinition
from processes.workflows.models.instance import Status
from processes.workflows.services.definitions.library import UnknownDefinition
from processes.workflows.subjects import say_record

FILTERS: dict[str, Promise] = {
    "status": _("status"),
    "definition": _("definition"),
    "revision": _("revision"),
    "record": _("record"),
    "element": _("stands at"),
    "incident": _("incident"),
    "variable": _("variable"),
    "age": _("age"),
    "q": _("search"),
    "started_after": _("started after"),
    "started_before": _("started before"),
    "instances": _("chosen one by one"),
}
Pairs = list[tuple[str, str]]


def say_choice(wanted: Mapping[str, Any]) -> Pairs:
    """Return each filter with its value; what a filter does not know stays as it was typed."""
    definition = WorkflowDefinition.objects.filter(pk=wanted.get("definition", "")).first()
    said: dict[str, Callable[[str], str]] = {
        "status": lambda value: str(Status(value).label) if value in Status.values else value,
        "definition": lambda value: str(definition or value),
        "record": say_record,
        "element": lambda value: _find_names(definition).get(value, value),
        "age": lambda value: str(AgeFilter.WORDS.get(value, value)),
    }
    return [
        (
            str(FILTERS.get(name, name)),
            ", ".join(said.get(name, str)(str(each)) for each in (value if isinstance(value, list) else [value])),
        )
        for name, value in wanted.items()
    ]


def say_parameters(batch: WorkflowBatch) -> Pairs:
    """Return what is set, or where the instances go and continue."""
    given: dict[str, Any] = msgspec.json.decode(batch.parameters)
    if batch.operation == WorkflowBatch.Operation.SET_VARIABLES:
        return [(value.name, value.text) for value in show_values(given.get("variables", {})).rows]
    elements: dict[str, str] = given.get("elements", {})
    names = {"revision": gettext("Revision"), "note": gettext("Note")}
    return [
        *((names[name], str(given[name])) for name in names if given.get(name)),
        *((gettext("“%(name)s” continues at") % {"name": element}, target) for element, target in elements.items()),
    ]


def _find_names(definition: WorkflowDefinition | None) -> dict[str, str]:
    if definition is None:
        return {}
    try:
        return get_element_names([(definition.pk, definition.newest)])
    except UnknownDefinition:
        return {}
