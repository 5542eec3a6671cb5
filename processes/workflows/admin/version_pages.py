"""The pages of versions: one version, two compared, the return to one, and its diagram."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from config.admin_base.pages import Question, actor_of
from config.admin_base.theme import ModelAdmin
from config.common.errors import ApplicationError
from processes.workflows.admin.dialog import Dialog, Outcome, run_dialog
from processes.workflows.admin.drawings import (
    Called,
    Drawing,
    draw_state,
    find_definitions,
    find_shown_definitions,
    get_element_names,
    make_marks,
)
from processes.workflows.admin.forms import CompareForm, ReturnForm
from processes.workflows.admin.instance_page import all_variables
from processes.workflows.admin.presentation import describe_cause, explain_refusal, status_badge, wait_label
from processes.workflows.admin.values import ShownValue, ShownValues, show_value, show_values
from processes.workflows.diagrams import respond_with_diagram, state_label
from processes.workflows.heads import get_head
from processes.workflows.models import WorkflowInstance, WorkItem
from processes.workflows.presentation import present_difference
from processes.workflows.selectors import LoadedVersion, find_open_incidents, get_revision, get_version
from processes.workflows.services.returns import preview_return, return_if_unchanged

MOST_LISTED = 200
Admin = ModelAdmin[WorkflowInstance]


@dataclass(frozen=True)
class ChangedVariable:
    """A variable that two versions do not share; None: it is not there."""

    name: str
    before: ShownValue | None
    after: ShownValue | None


@dataclass(frozen=True)
class Difference:
    variables: list[ChangedVariable]
    more: int
    entered: list[str]
    left: list[str]

    @property
    def is_empty(self) -> bool:
        return not (self.variables or self.entered or self.left)


@dataclass(frozen=True)
class VersionPage:
    loaded: LoadedVersion
    cause: str
    badge: str
    drawings: list[Drawing]
    values: ShownValues
    difference: Difference | None
    """From the version that it was made from."""
    head: int
    compare: str
    """The page that compares it with the newest."""
    may_return: bool


@dataclass(frozen=True)
class ListedEntry:
    what: str
    element: str
    name: str


def version_view(model_admin: Admin, request: HttpRequest, instance: WorkflowInstance, number: int) -> HttpResponse:
    loaded = get_version(instance.pk, number)
    parent = None if loaded.version.parent is None else get_version(instance.pk, loaded.version.parent)
    page = VersionPage(
        loaded=loaded,
        cause=describe_cause(loaded.version.cause, get_element_names(_definitions_in(parent or loaded, instance))),
        badge=status_badge(loaded.version.status),
        drawings=draw_state(instance.pk, number, loaded.state, own=_own_definition(loaded, instance)),
        values=show_values(all_variables(loaded.state or {})),
        difference=None if parent is None else _compare(parent, loaded, instance),
        head=instance.head,
        compare=reverse(
            "admin:workflows_instance_compare", args=[instance.pk], query={"from": number, "to": instance.head}
        ),
        may_return=number != instance.head and loaded.state is not None,
    )
    title = gettext("Version %(number)s") % {"number": number}
    return _render(
        model_admin, request, instance, "admin/workflows/version.html", title, page=page, traced=loaded.version
    )


def compare_view(model_admin: Admin, request: HttpRequest, instance: WorkflowInstance) -> HttpResponse:
    form = CompareForm(request.GET)
    if not form.is_valid():
        raise Http404
    before, after = (get_version(instance.pk, form.cleaned_data[name]) for name in ("from", "to"))
    title = gettext("Versions %(before)s and %(after)s") % {
        "before": before.version.number,
        "after": after.version.number,
    }
    difference = _compare(before, after, instance)
    names = get_element_names([*_definitions_in(before, instance), *_definitions_in(after, instance)])
    context = {
        "difference": difference,
        "versions": [(loaded.version, describe_cause(loaded.version.cause, names)) for loaded in (before, after)],
    }
    return _render(model_admin, request, instance, "admin/workflows/compare.html", title, **context)


def return_view(model_admin: Admin, request: HttpRequest, instance: WorkflowInstance, number: int) -> HttpResponse:
    """Show what a return would do and ask for a reason; refuse it where the instance has moved on since."""
    back = reverse("admin:workflows_workflowinstance_change", args=[instance.pk])
    try:
        preview = preview_return(instance.pk, version=number, at=timezone.now())
    except ApplicationError as error:
        messages.warning(request, explain_refusal(error))
        return HttpResponseRedirect(back)
    question = Question(
        title=gettext("Return to version %(number)s?") % {"number": number},
        text=gettext(
            "Nothing is deleted: everything after it stays in the tree as a branch, and can be returned to as well."
        ),
        button=gettext("Return"),
        dangerous=True,
    )

    def act(answers: dict[str, Any]) -> Outcome:
        return_if_unchanged(
            instance.pk,
            version=number,
            expected_version=answers["version"],
            reason=answers["reason"],
            actor=actor_of(request),
            at=timezone.now(),
        )
        return Outcome(gettext("The instance has been returned to version %(number)s.") % {"number": number}, back)

    initial = {"version": instance.head}
    form = ReturnForm(request.POST) if request.method == "POST" else ReturnForm(initial=initial)
    target = _definitions_in(get_version(instance.pk, number), instance)
    names = get_element_names([*find_definitions(get_head(instance.pk).state or {}), *target])
    shown = {part: _list_entries(preview[part], names) for part in ("cancelled", "restarted", "irrevocable")}
    dialog = Dialog(
        question, form, act, back, subject=instance, template="admin/workflows/return.html", extra=lambda: shown
    )
    return run_dialog(model_admin, request, dialog)


def diagram_view(request: HttpRequest, instance: WorkflowInstance, number: int) -> HttpResponse:
    """Respond with the diagram of one definition that runs in a version, with tokens; of the newest with incidents."""
    loaded = get_version(instance.pk, number)
    shown = find_shown_definitions(loaded.state, _own_definition(loaded, instance))
    place = request.GET.get("of", "0")
    if place not in map(str, range(len(shown))):
        raise Http404
    called = shown[int(place)]
    incidents = find_open_incidents([instance.pk]).get(instance.pk, []) if number == instance.head else []
    marks = make_marks(loaded.state or {}, called, [incident.element for incident in incidents])
    answer = respond_with_diagram(get_revision(*called), marks)
    if answer is None:
        raise Http404
    return answer


def _render(
    model_admin: Admin, request: HttpRequest, instance: WorkflowInstance, template: str, title: str, **context: Any
) -> HttpResponse:
    frame = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": title,
        "original": instance,
        "media": model_admin.media,
        "back": reverse("admin:workflows_workflowinstance_change", args=[instance.pk]),
        "may_act": model_admin.has_operate_permission(request),  # type: ignore[attr-defined]
    }
    return TemplateResponse(request, template, {**frame, **context})


def _own_definition(loaded: LoadedVersion, instance: WorkflowInstance) -> Called:
    return instance.definition_id, loaded.version.revision.number


def _compare(before: LoadedVersion, after: LoadedVersion, instance: WorkflowInstance) -> Difference:
    found = present_difference(before, after)
    variables = found["variables"]
    changes = [
        *(ChangedVariable(name, None, show_value(name, value)) for name, value in variables["added"].items()),
        *(ChangedVariable(name, show_value(name, value), None) for name, value in variables["removed"].items()),
        *(
            ChangedVariable(name, show_value(name, value["before"]), show_value(name, value["after"]))
            for name, value in variables["changed"].items()
        ),
    ]
    names = get_element_names([*_definitions_in(before, instance), *_definitions_in(after, instance)])
    return Difference(
        variables=sorted(changes, key=lambda change: change.name)[:MOST_LISTED],
        more=max(0, len(changes) - MOST_LISTED),
        entered=[names.get(element) or element for element in found["active"]["added"][:MOST_LISTED]],
        left=[names.get(element) or element for element in found["active"]["removed"][:MOST_LISTED]],
    )


def _definitions_in(loaded: LoadedVersion, instance: WorkflowInstance) -> list[Called]:
    return find_definitions(loaded.state or {}) or [_own_definition(loaded, instance)]


def _list_entries(entries: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> dict[str, Any]:
    words = {
        "task": gettext("task"),
        "timer": gettext("timer"),
        "subscription": gettext("wait for an event"),
        "effect": gettext("effect"),
        "item": gettext("plan item"),
    }
    recalled = gettext("(sent, not received yet: will be recalled)")
    rows = [
        ListedEntry(
            words.get(entry["what"], entry["what"]),
            names.get(entry["element"]) or entry["element"],
            " ".join(filter(None, [_say_kind(entry), entry.get("name", ""), recalled if "recalled" in entry else ""])),
        )
        for entry in entries[:MOST_LISTED]
    ]
    return {"rows": rows, "count": len(entries), "more": max(0, len(entries) - MOST_LISTED)}


def _say_kind(entry: Mapping[str, Any]) -> str:
    """Return in words what kind of task or timer it is, or in which state a plan item."""
    kind = entry["kind"]
    if entry["what"] == "task" and kind in WorkItem.Kind.values:
        return str(WorkItem.Kind(kind).label)
    return wait_label(kind) if entry["what"] == "timer" else state_label(kind)


def get_instance(model_admin: Admin, request: HttpRequest, instance_id: UUID) -> WorkflowInstance:
    instance = model_admin.get_object(request, str(instance_id))
    if instance is None:
        raise Http404
    return instance
