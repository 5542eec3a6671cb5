"""The page of a revision on trial: how it stands, where it differs, and the two ways to end the trial."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.contrib.admin.utils import quote, unquote
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from config.admin_base.pages import Question, actor_of
from config.admin_base.times import format_local
from processes.workflows.admin.access import WorkflowAdmin
from processes.workflows.admin.dialog import Dialog, Outcome, run_dialog
from processes.workflows.admin.drawings import draw_revision, get_element_names
from processes.workflows.admin.forms import LARGEST_NUMBER
from processes.workflows.admin.subject_names import name_instances
from processes.workflows.engine.diagram import Marks, Note
from processes.workflows.engine.diagram.colours import OFFERED
from processes.workflows.models import ShadowDifference, ShadowExample, WorkflowRevision, WorkflowShadow
from processes.workflows.services.definitions.publish import Published
from processes.workflows.services.shadow.end import discard_shadow, promote_shadow
from processes.workflows.shadows import MOST_COUNTED, Standing, find_shadow, get_shadow, get_standing, list_examples

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)")


class SeenShadowForm(forms.Form):
    """Carries the revision that the person has seen on trial."""

    revision = forms.IntegerField(min_value=1, max_value=LARGEST_NUMBER, widget=forms.HiddenInput)


@dataclass(frozen=True)
class ListedDifference:
    row: ShadowDifference
    place: str
    """The name of the element, or its id; the name of a variable."""
    page: str


@dataclass(frozen=True)
class ListedExample:
    row: ShadowExample
    page: str
    """Of the version at which the instance was."""
    name: str
    live: str
    withheld: str


def shadow_address(key: str, **query: Any) -> str:
    return reverse("admin:workflows_definition_shadow", args=[quote(key)], query=query)


def shadow_view(model_admin: WorkflowAdmin[Any], request: HttpRequest, object_id: str) -> HttpResponse:
    """Show how a shadow stands; with a difference in the query, the instances that have it."""
    model_admin.check_view(request)
    standing = get_standing(unquote(object_id))
    shadow = standing.shadow
    chosen = request.GET.get("difference", "")
    number = int(chosen) if chosen.isascii() and chosen.isdigit() and len(chosen) < 18 else 0
    listed = _list_differences(standing)
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": gettext("Shadow: revision %(revision)s") % {"revision": shadow.revision.number},
        "original": shadow.definition,
        "standing": standing,
        "is_far_behind": standing.waiting == MOST_COUNTED,
        "differences": listed,
        "chosen": next((each for each in listed if each.row.pk == number), None),
        "examples": _list_examples(shadow, number) if number else [],
        "drawings": [draw_revision(shadow.revision, query={"differences": "1"})],
        "may_end": model_admin.has_operate_permission(request),
        "back": _definition_address(shadow),
        "media": model_admin.media,
    }
    return TemplateResponse(request, "admin/workflows/shadow.html", context)


def build_shadow_outcome(made: Published) -> Outcome:
    """Return what is said after a file was published as a shadow."""
    named = {"key": made.key, "revision": made.revision}
    message = gettext("On trial beside the current revision: “%(key)s”, revision %(revision)s.") % named
    return Outcome(message, shadow_address(made.key))


def promote_view(model_admin: WorkflowAdmin[Any], request: HttpRequest, object_id: str) -> HttpResponse:
    shadow = get_shadow(unquote(object_id))
    question = Question(
        title=gettext("Promote revision %(revision)s") % {"revision": shadow.revision.number},
        text=gettext(
            "New instances start with it from now on. Running instances continue with their revision. What was "
            "compared is deleted."
        ),
        button=gettext("Promote"),
    )

    def act(revision: int) -> Outcome:
        number = promote_shadow(shadow.definition_id, revision=revision, actor=actor_of(request), at=timezone.now())
        named = {"key": shadow.definition_id, "revision": number}
        return Outcome(gettext("Published: “%(key)s”, revision %(revision)s.") % named, _definition_address(shadow))

    return _ask(model_admin, request, shadow, question, act)


def discard_view(model_admin: WorkflowAdmin[Any], request: HttpRequest, object_id: str) -> HttpResponse:
    shadow = get_shadow(unquote(object_id))
    question = Question(
        title=gettext("Discard the shadow"),
        text=gettext("What was compared is deleted. Revision %(revision)s stays to be looked at.")
        % {"revision": shadow.revision.number},
        button=gettext("Discard"),
        dangerous=True,
    )

    def act(revision: int) -> Outcome:
        discard_shadow(shadow.definition_id, revision=revision, actor=actor_of(request))
        return Outcome(gettext("The shadow has been discarded."), _definition_address(shadow))

    return _ask(model_admin, request, shadow, question, act)


def mark_differences(revision: WorkflowRevision) -> Marks:
    """Return the marks of a drawing: the elements at which instances differ, with how many do."""
    shadow = find_shadow(revision.definition_id)
    if shadow is None:
        return Marks()
    notes: dict[str, Note] = {}
    for row in ShadowDifference.objects.filter(shadow=shadow).exclude(place="").order_by("count"):
        if row.kind != ShadowDifference.Kind.VARIABLES:
            text = ngettext("%(count)s instance differs", "%(count)s instances differ", row.count)
            notes[row.place] = Note(OFFERED, "≠", f"{row.get_kind_display()}: {text % {'count': row.count}}")
    return Marks(notes=notes)


def _ask(
    model_admin: WorkflowAdmin[Any],
    request: HttpRequest,
    shadow: WorkflowShadow,
    question: Question,
    act: Callable[[int], Outcome],
) -> HttpResponse:
    model_admin.check_operate(request)
    sent = request.POST if request.method == "POST" else None
    form = SeenShadowForm(sent, initial={"revision": shadow.revision.number})
    back = shadow_address(shadow.definition_id)
    dialog = Dialog(question, form, lambda answers: act(answers["revision"]), back, subject=shadow.definition)
    return run_dialog(model_admin, request, dialog)


def _list_differences(standing: Standing) -> list[ListedDifference]:
    shadow = standing.shadow
    names = get_element_names((shadow.definition_id, each.number) for each in (shadow.against, shadow.revision))
    return [
        ListedDifference(
            row,
            row.place if row.kind == ShadowDifference.Kind.VARIABLES else names.get(row.place, row.place),
            shadow_address(shadow.definition_id, difference=row.pk) + "#examples",
        )
        for row in standing.differences
    ]


def _list_examples(shadow: WorkflowShadow, difference: int) -> list[ListedExample]:
    rows = list_examples(shadow, difference)
    names = name_instances(each.instance for each in rows)
    return [
        ListedExample(
            each,
            reverse("admin:workflows_instance_version", args=[each.instance, each.version]),
            names.get(each.instance, str(each.instance)),
            live=_say_times(each.live),
            withheld=_say_times(each.withheld),
        )
        for each in rows
    ]


def _say_times(text: str) -> str:
    """Return a JSON text with its times as its reader has them; what only looks like one stays as it is."""

    def say(found: re.Match[str]) -> str:
        try:
            return format_local(datetime.fromisoformat(found[0]))
        except ValueError:
            return found[0]

    return _TIME.sub(say, text)


def _definition_address(shadow: WorkflowShadow) -> str:
    return reverse("admin:workflows_workflowdefinition_change", args=[quote(shadow.definition_id)])
