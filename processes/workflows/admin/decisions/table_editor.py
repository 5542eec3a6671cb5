"""The editor of decision tables: rows and columns in the page, saved by publishing a revision."""

from typing import Any

import msgspec
from django import forms
from django.contrib import messages
from django.contrib.admin.utils import quote
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminTextInputWidget

from config.admin_base.pages import actor_of, add_errors
from config.common.errors import ApplicationError, Invalid
from processes.workflows.admin.access import WorkflowAdmin
from processes.workflows.admin.forms import LARGEST_NUMBER, EnterpriseForm
from processes.workflows.admin.presentation import explain_refusal
from processes.workflows.engine.dmn.edit import EditedInput, EditedOutput, EditedRule, EditedTable, read_edited
from processes.workflows.engine.dmn.model import Aggregation, DecisionTable, HitPolicy
from processes.workflows.errors import NotExecutable
from processes.workflows.models import WorkflowDefinition
from processes.workflows.selectors import get_revision
from processes.workflows.services.definitions.decision_tables import NewDecision, create_table, save_table
from processes.workflows.services.definitions.library import UnknownDefinition, get_compiled
from processes.workflows.services.definitions.publish import Published

LONGEST_TABLE = 1_000_000
TYPES = ("string", "number", "boolean", "date", "time", "dateTime", "dayTimeDuration", "yearMonthDuration")


class TableForm(forms.Form):
    table = forms.CharField(widget=forms.HiddenInput, max_length=LONGEST_TABLE)

    def clean_table(self) -> EditedTable:
        try:
            return msgspec.json.decode(self.cleaned_data["table"], type=EditedTable)
        except (msgspec.ValidationError, msgspec.DecodeError) as error:
            raise forms.ValidationError(gettext("The page is out of date: load it again.")) from error


class EditTableForm(TableForm):
    """Carries the revision that the person has seen."""

    revision = forms.IntegerField(min_value=1, max_value=LARGEST_NUMBER, widget=forms.HiddenInput)


class NewTableForm(EnterpriseForm, TableForm):
    key = forms.CharField(
        label=_("Key"),
        max_length=200,
        help_text=_("By this name tasks call the decision: letters, digits, “_”, “.” and “-”."),
        widget=UnfoldAdminTextInputWidget,
    )
    name = forms.CharField(label=_("Name"), max_length=200, required=False, widget=UnfoldAdminTextInputWidget)
    field_order = ["key", "name", "enterprise", "table"]


def edit_table(model_admin: WorkflowAdmin[Any], request: HttpRequest, definition: WorkflowDefinition) -> HttpResponse:
    """Show the table of a decision to be edited; on POST publish it as the next revision."""
    table = find_table(definition.pk, definition.newest)
    if table is None:  # its button is not shown
        raise PermissionDenied
    form = EditTableForm(request.POST if request.method == "POST" else None, initial={"revision": definition.newest})

    def save(answers: dict[str, Any]) -> Published:
        seen = get_revision(definition.pk, answers["revision"])
        return save_table(seen, answers["table"], actor=actor_of(request), at=timezone.now())

    return _run(model_admin, request, form, save, read_edited(table), gettext("Edit the table"), definition)


def new_table(model_admin: WorkflowAdmin[Any], request: HttpRequest) -> HttpResponse:
    """Show an empty table; on POST publish it as a new decision."""
    form = NewTableForm(request.POST if request.method == "POST" else None)

    def save(answers: dict[str, Any]) -> Published:
        owner = answers["enterprise"]
        new = NewDecision(answers["key"].strip(), answers["name"].strip(), None if owner is None else owner.pk)
        return create_table(new, answers["table"], actor=actor_of(request), at=timezone.now())

    empty = EditedTable(
        hit=HitPolicy.UNIQUE,
        inputs=[EditedInput("")],
        outputs=[EditedOutput("result")],
        rules=[EditedRule(["-"], [""])],
    )
    return _run(model_admin, request, form, save, empty, gettext("New decision table"), None)


def find_table(key: str, revision: int) -> DecisionTable | None:
    """Return the table of a decision; None where its logic is another, or it is no decision."""
    try:
        model = get_compiled(key, revision).decision
    except UnknownDefinition:
        return None
    return model.main.logic if model is not None and isinstance(model.main.logic, DecisionTable) else None


def _run(
    model_admin: WorkflowAdmin[Any],
    request: HttpRequest,
    form: forms.Form,
    save: Any,
    table: EditedTable,
    title: str,
    definition: WorkflowDefinition | None,
) -> HttpResponse:
    problems: list[dict[str, Any]] = []
    if request.method == "POST" and form.is_valid():
        table = form.cleaned_data["table"]  # what was typed is shown again where it is refused
        try:
            made = save(form.cleaned_data)
        except NotExecutable as error:
            problems = error.data["problems"]
        except Invalid as error:
            add_errors(form, error)
        except ApplicationError as error:
            form.add_error(None, explain_refusal(error))
        else:
            return _show_saved(request, made)
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": title,
        "original": definition,
        "form": form,
        "table": msgspec.to_builtins(table),
        "problems": problems,
        "policies": [(policy.value, f"{policy.letter}: {label}") for policy, label in POLICIES.items()],
        "aggregations": [each.value for each in Aggregation],
        "types": TYPES,
        "back": _page_of(definition.pk) if definition else reverse("admin:workflows_workflowdefinition_changelist"),
        "media": model_admin.media + form.media,
    }
    return TemplateResponse(request, "admin/workflows/table_editor.html", context)


POLICIES = {
    HitPolicy.UNIQUE: _("one rule at most"),
    HitPolicy.FIRST: _("the first rule"),
    HitPolicy.ANY: _("any, all agree"),
    HitPolicy.PRIORITY: _("the most important output"),
    HitPolicy.COLLECT: _("all, in any order"),
    HitPolicy.RULE_ORDER: _("all, by rules"),
    HitPolicy.OUTPUT_ORDER: _("all, by importance"),
}
"""How each hit policy is explained."""


def _show_saved(request: HttpRequest, made: Published) -> HttpResponse:
    named = {"key": made.key, "revision": made.revision}
    if made.is_new:
        messages.success(request, gettext("Published: “%(key)s”, revision %(revision)s.") % named)
    else:
        text = gettext("This file has already been published: “%(key)s”, revision %(revision)s.")
        messages.info(request, text % named)
    return HttpResponseRedirect(_page_of(made.key))


def _page_of(key: str) -> str:
    return reverse("admin:workflows_workflowdefinition_change", args=[quote(key)])
