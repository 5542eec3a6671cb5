"""The commands that staff give an instance, each asked once more with what it means."""

from typing import Any

import msgspec
from django.contrib import messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from config.admin_base.pages import Question, actor_of
from config.admin_base.theme import ModelAdmin
from processes.workflows.admin.dialog import Dialog, Outcome, run_dialog
from processes.workflows.admin.forms import RetryForm, SeenForm, VariablesForm
from processes.workflows.admin.instance_page import all_variables
from processes.workflows.admin.values import editable_text, find_changed, show_values
from processes.workflows.engine import state_queries
from processes.workflows.heads import get_head
from processes.workflows.models import WorkflowEffect, WorkflowIncident, WorkflowInstance
from processes.workflows.services.commands import command_instance
from processes.workflows.services.incidents import DISPATCH_EFFECT

Admin = ModelAdmin[WorkflowInstance]
ENDS = ("terminate", "close")


def command_view(
    model_admin: Admin, request: HttpRequest, instance: WorkflowInstance, command: str, question: Question, said: str
) -> HttpResponse:
    """Ask for a command without anything to fill in.

    To suspend and to resume mean the same at every version; an end is for the instance that the person has seen.
    """

    def act(answers: dict[str, Any]) -> Outcome:
        expected = answers["version"] if command in ENDS else None
        body = {"command": command}
        command_instance(instance.pk, body, actor=actor_of(request), at=timezone.now(), expected_version=expected)
        return Outcome(said, _page_of(instance))

    form = SeenForm(request.POST) if request.method == "POST" else SeenForm(initial={"version": instance.head})
    return run_dialog(model_admin, request, Dialog(question, form, act, _page_of(instance), subject=instance))


def variables_view(model_admin: Admin, request: HttpRequest, instance: WorkflowInstance) -> HttpResponse:
    head = get_head(instance.pk)
    current = state_queries.get_variables(head.state or {})
    question = Question(
        title=gettext("Change the variables"),
        text=gettext("That is a version of its own. Conditions that wait for such values look at them at once."),
        button=gettext("Change"),
    )

    def act(answers: dict[str, Any]) -> Outcome:
        wanted = find_changed(current, answers["variables"])
        if not wanted and answers["version"] == head.number:
            return Outcome(
                gettext("Nothing was different: the variables are as they were."), _page_of(instance), messages.INFO
            )
        body = {"command": "set_variables", "variables": wanted}
        after = command_instance(
            instance.pk, body, actor=actor_of(request), at=timezone.now(), expected_version=answers["version"]
        )
        if after.number == head.number:
            return report_failure(instance)
        return Outcome(gettext("The variables have been changed."), _page_of(instance))

    initial = {"version": head.number, "variables": editable_text(current)}
    form = VariablesForm(request.POST) if request.method == "POST" else VariablesForm(initial=initial)
    asked = Dialog(question, form, act, _page_of(instance), subject=instance, extra=lambda: _now(instance, form))
    return run_dialog(model_admin, request, asked)


def retry_view(
    model_admin: Admin, request: HttpRequest, instance: WorkflowInstance, incident: WorkflowIncident
) -> HttpResponse:
    head = get_head(instance.pk)
    current = _given(incident, state_queries.get_variables(head.state or {}))
    question = Question(
        title=gettext("Try it again?"),
        text=incident.reason,
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
            return report_failure(instance)
        return Outcome(gettext("It has been tried again; the incident is resolved."), _page_of(instance))

    initial = {"version": head.number, "variables": editable_text(current)}
    form = RetryForm(request.POST) if request.method == "POST" else RetryForm(initial=initial)
    asked = Dialog(question, form, act, _page_of(instance), subject=instance, extra=lambda: _now(instance, form))
    return run_dialog(model_admin, request, asked)


def _given(incident: WorkflowIncident, variables: dict[str, Any]) -> dict[str, Any]:
    """Return what a retry starts from: the variables, of an effect its inputs."""
    if incident.command["command"] != DISPATCH_EFFECT:
        return variables
    rows = WorkflowEffect.objects.filter(instance=incident.instance_id, local=incident.command["effect"])
    inputs = rows.values_list("inputs", flat=True).first()
    return dict(msgspec.json.decode(inputs)) if inputs else {}


def report_failure(instance: WorkflowInstance) -> Outcome:
    said = gettext("It was tried and did not go through. The incident tells why.")
    return Outcome(said, _page_of(instance), messages.WARNING)


def _now(instance: WorkflowInstance, form: SeenForm) -> dict[str, Any]:
    """Show what the instance holds by now beside what was typed before, where somebody was faster."""
    if not (form.is_bound and form.non_field_errors()):
        return {}
    return {"newest": show_values(all_variables(get_head(instance.pk).state or {}))}


def _page_of(instance: Model) -> str:
    return reverse("admin:workflows_workflowinstance_change", args=[instance.pk])
