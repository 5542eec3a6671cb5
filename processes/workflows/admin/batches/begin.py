"""The actions of the list of instances: each asks for what it needs and begins a dry run, shown by its page."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from unfold.widgets import UnfoldAdminIntegerFieldWidget

from config.admin_base.confirm_many import CONFIRMED, SHOWN
from config.admin_base.pages import Question, actor_of
from config.admin_base.theme import ModelAdmin
from config.common.errors import ApplicationError
from processes.workflows.admin.forms import LARGEST_NUMBER
from processes.workflows.admin.presentation import explain_refusal
from processes.workflows.admin.values import VariablesField
from processes.workflows.models import WorkflowBatch, WorkflowInstance
from processes.workflows.services.batches.create import MOST_INSTANCES, BatchRequest, create_batch

FILTERS = ("status", "definition", "revision", "element", "incident", "variable", "age", "q")
LONGEST_SHOWN = 200


class SetVariablesForm(forms.Form):
    variables = VariablesField(
        label=_("Variables"), help_text=_("As JSON. Other variables stay as they are."), required=True
    )


class MigrateForm(forms.Form):
    revision = forms.IntegerField(
        label=_("Revision"),
        min_value=1,
        max_value=LARGEST_NUMBER,
        help_text=_("The number of a revision of their definition."),
        widget=UnfoldAdminIntegerFieldWidget,
    )
    elements = VariablesField(
        label=_("Elements that continue under another id"),
        help_text=_('As JSON, for example {"check": "review"}. The dry run says which have no counterpart.'),
    )


FORMS: dict[str, type[forms.Form]] = {
    WorkflowBatch.Operation.SET_VARIABLES: SetVariablesForm,
    WorkflowBatch.Operation.MIGRATE: MigrateForm,
}


def begin_batch(
    model_admin: ModelAdmin[WorkflowInstance],
    request: HttpRequest,
    chosen: QuerySet[WorkflowInstance],
    operation: WorkflowBatch.Operation,
) -> HttpResponse | None:
    """Begin the dry run of an operation over the chosen instances and go to its page; ask before for what it needs."""
    form = FORMS[operation](request.POST if CONFIRMED in request.POST else None) if operation in FORMS else None
    if form is not None and not form.is_valid():
        return _ask(model_admin, request, chosen, operation, form)
    is_across = request.POST.get("select_across") == "1"
    parameters = {name: value for name, value in form.cleaned_data.items() if value} if form is not None else {}
    asked = BatchRequest(
        operation,
        parameters,
        _describe_choice(request, is_across=is_across),
        is_dry_run=True,
        ended_too=not is_across or bool(request.GET.get("status")),
    )
    try:
        batch = create_batch(asked, chosen, actor=actor_of(request))
    except ApplicationError as error:
        messages.error(request, explain_refusal(error))
        return None
    return HttpResponseRedirect(reverse("admin:workflows_workflowbatch_change", args=[batch.pk]))


def _describe_choice(request: HttpRequest, *, is_across: bool) -> dict[str, Any]:
    """Return by what the instances were chosen: the filters of the list, or how many were ticked."""
    if not is_across:
        return {"instances": len(request.POST.getlist(ACTION_CHECKBOX_NAME))}
    return {name: request.GET[name][:LONGEST_SHOWN] for name in FILTERS if request.GET.get(name)}


def _ask(
    model_admin: ModelAdmin[WorkflowInstance],
    request: HttpRequest,
    chosen: QuerySet[WorkflowInstance],
    operation: WorkflowBatch.Operation,
    form: forms.Form,
) -> HttpResponse:
    found = list(chosen.order_by("pk").select_related("definition")[:SHOWN])
    count = chosen.order_by()[: MOST_INSTANCES + 1].count()
    words = ngettext("%(number)s instance:", "%(number)s instances:", count)
    question = Question(
        title=gettext("Set variables")
        if operation == WorkflowBatch.Operation.SET_VARIABLES
        else gettext("Move to a revision"),
        text=gettext(
            "Nothing is changed yet: a dry run says first how many would be, and why others would be refused."
        ),
        button=gettext("Dry run"),
    )
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": question.title,
        "question": question,
        "form": form,
        "media": model_admin.media + form.media,
        "count": count,
        "count_words": words % {"number": number_format(count, force_grouping=True)},
        "names": [str(instance) for instance in found],
        "more": max(0, count - SHOWN),
        "action": request.POST["action"],
        "select_across": request.POST.get("select_across", "0"),
        "checkbox": ACTION_CHECKBOX_NAME,
        "ticked": request.POST.getlist(ACTION_CHECKBOX_NAME),
        "back": request.get_full_path(),
        "is_in_batches": False,
    }
    return TemplateResponse(request, "admin_base/confirm_many.html", context)
