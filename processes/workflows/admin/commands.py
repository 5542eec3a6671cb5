"""The pages on which staff command an instance or a plan item: each asks once more and says what will happen."""

from typing import Any

import msgspec
from django.contrib import messages
from django.db.models import Model
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from config.admin_base.pages import Question, actor_of
from config.admin_base.theme import ModelAdmin
from processes.workflows.admin.dialog import Dialog, Outcome, run_dialog
from processes.workflows.admin.forms import RetryForm, SeenForm, VariablesForm
from processes.workflows.admin.instance_page import all_variables
from processes.workflows.admin.plan_card import name_item
from processes.workflows.admin.presentation import ITEM_COMMANDS
from processes.workflows.admin.values import editable_text, find_changed, show_values
from processes.workflows.engine import state_queries
from processes.workflows.heads import get_head
from processes.workflows.models import WorkflowEffect, WorkflowIncident, WorkflowInstance
from processes.workflows.reasons import translate_reason
from processes.workflows.services.commands import command_instance
from processes.workflows.services.incidents import DISPATCH_EFFECT

Admin = ModelAdmin[WorkflowInstance]
ENDS = ("terminate", "close")


def command_view(
    model_admin: Admin, request: HttpRequest, instance: WorkflowInstance, command: str, question: Question, success: str
) -> HttpResponse:
    """Ask for a command that has nothing to fill in."""

    def act(answers: dict[str, Any]) -> Outcome:
        # Suspend and resume mean the same at every version; an end is for the instance that the person has seen.
        expected = answers["version"] if command in ENDS else None
        body = {"command": command}
        command_instance(instance.pk, body, actor=actor_of(request), at=timezone.now(), expected_version=expected)
        return Outcome(success, _page_of(instance))

    form = SeenForm(request.POST) if request.method == "POST" else SeenForm(initial={"version": instance.head})
    return run_dialog(model_admin, request, Dialog(question, form, act, _page_of(instance), subject=instance))


def variables_view(model_admin: Admin, request: HttpRequest, instance: WorkflowInstance) -> HttpResponse:
    head = get_head(instance.pk)
    current = state_queries.get_variables(head.state or {})
    question = Question(
        title=gettext("Change the variables"),
        text=gettext("This creates a new version. Conditions that wait for these values are checked at once."),
        button=gettext("Change"),
    )

    def act(answers: dict[str, Any]) -> Outcome:
        changes = find_changed(current, answers["variables"])
        if not changes and answers["version"] == head.number:
            return Outcome(
                gettext("Nothing changed: the variables are the same as before."), _page_of(instance), messages.INFO
            )
        body = {"command": "set_variables", "variables": changes}
        after = command_instance(
            instance.pk, body, actor=actor_of(request), at=timezone.now(), expected_version=answers["version"]
        )
        if after.number == head.number:
            return _report_failure(instance)
        return Outcome(gettext("The variables have been changed."), _page_of(instance))

    initial = {"version": head.number, "variables": editable_text(current)}
    form = VariablesForm(request.POST) if request.method == "POST" else VariablesForm(initial=initial)
    dialog = Dialog(
        question, form, act, _page_of(instance), subject=instance, extra=lambda: _show_newest(instance, form)
    )
    return run_dialog(model_admin, request, dialog)


def retry_view(
    model_admin: Admin, request: HttpRequest, instance: WorkflowInstance, incident: WorkflowIncident
) -> HttpResponse:
    head = get_head(instance.pk)
    current = _get_inputs(incident, state_queries.get_variables(head.state or {}))
    question = Question(
        title=gettext("Try again?"),
        text=translate_reason(incident.reason),
        button=gettext("Try again"),
    )

    def act(answers: dict[str, Any]) -> Outcome:
        body = {
            "command": "retry_incident",
            "incident": incident.pk,
            "note": answers["note"],
            "variables": find_changed(current, answers["variables"]),
        }
        command_instance(
            instance.pk, body, actor=actor_of(request), at=timezone.now(), expected_version=answers["version"]
        )
        if WorkflowIncident.objects.filter(pk=incident.pk, status=WorkflowIncident.Status.OPEN).exists():
            return _report_failure(instance)
        return Outcome(gettext("The retry succeeded; the incident is resolved."), _page_of(instance))

    initial = {"version": head.number, "variables": editable_text(current)}
    form = RetryForm(request.POST) if request.method == "POST" else RetryForm(initial=initial)
    dialog = Dialog(
        question, form, act, _page_of(instance), subject=instance, extra=lambda: _show_newest(instance, form)
    )
    return run_dialog(model_admin, request, dialog)


def item_view(
    model_admin: Admin, request: HttpRequest, instance: WorkflowInstance, item: str, command: str
) -> HttpResponse:
    """Run a command of a plan item on POST; ask first on GET, and where the page was out of date."""
    wording, back = ITEM_COMMANDS.get(command), _page_of(instance)
    if wording is None:
        raise Http404
    head = get_head(instance.pk)
    state = head.state or {}
    record = state.get("items", {}).get(item)
    if record is None:
        messages.warning(request, gettext("This item no longer exists: the instance has moved on."))
        return HttpResponseRedirect(back)
    named = {"item": name_item(state, record)}

    def act(answers: dict[str, Any]) -> Outcome:
        body = {"command": command, "item": item}
        seen = answers["version"]
        after = command_instance(instance.pk, body, actor=actor_of(request), at=timezone.now(), expected_version=seen)
        return _report_failure(instance) if after.number == seen else Outcome(wording.success % named, back)

    question = Question(
        title=wording.title % named,
        text=str(wording.text),
        button=str(wording.label),
        dangerous=wording.needs_confirmation,
    )
    form = SeenForm(request.POST) if request.method == "POST" else SeenForm(initial={"version": head.number})
    return run_dialog(model_admin, request, Dialog(question, form, act, back, subject=instance))


def _get_inputs(incident: WorkflowIncident, variables: dict[str, Any]) -> dict[str, Any]:
    """Return the values that a retry may change: the variables, or the inputs of a refused effect."""
    if incident.command["command"] != DISPATCH_EFFECT:
        return variables
    rows = WorkflowEffect.objects.filter(instance=incident.instance_id, local=incident.command["effect"])
    inputs = rows.values_list("inputs", flat=True).first()
    return dict(msgspec.json.decode(inputs)) if inputs else {}


def _report_failure(instance: WorkflowInstance) -> Outcome:
    message = gettext("It failed. The incident says why.")
    return Outcome(message, _page_of(instance), messages.WARNING)


def _show_newest(instance: WorkflowInstance, form: SeenForm) -> dict[str, Any]:
    """Show the newest variables beside those that were typed, where the instance has moved on meanwhile."""
    if not (form.is_bound and form.non_field_errors()):
        return {}
    return {"newest": show_values(all_variables(get_head(instance.pk).state or {}))}


def _page_of(instance: Model) -> str:
    return reverse("admin:workflows_workflowinstance_change", args=[instance.pk])
