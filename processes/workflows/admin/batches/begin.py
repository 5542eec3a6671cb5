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

from config.admin_base.confirm_many import CONFIRMED, SHOWN
from config.admin_base.pages import Question, actor_of
from config.admin_base.theme import ModelAdmin
from config.common.errors import ApplicationError
from processes.workflows.admin.batches.forms import MoveForm, SetVariablesForm
from processes.workflows.admin.presentation import explain_refusal
from processes.workflows.admin.subject_names import name_instances
from processes.workflows.models import WorkflowBatch, WorkflowInstance
from processes.workflows.services.batches.create import MOST_INSTANCES, NOT_ENDED, BatchRequest, create_batch

FILTERS = ("status", "definition", "revision", "element", "incident", "variable", "age", "q")
LONGEST_SHOWN = 200


FORMS: dict[str, type[SetVariablesForm] | type[MoveForm]] = {
    WorkflowBatch.Operation.SET_VARIABLES: SetVariablesForm,
    WorkflowBatch.Operation.MIGRATE: MoveForm,
}


def begin_batch(
    model_admin: ModelAdmin[WorkflowInstance],
    request: HttpRequest,
    chosen: QuerySet[WorkflowInstance],
    operation: WorkflowBatch.Operation,
) -> HttpResponse | None:
    """Begin the dry run of an operation over the chosen instances and go to its page; ask before for what it needs."""
    is_across = request.POST.get("select_across") == "1"
    ended_too = not is_across or bool(request.GET.get("status"))
    sent = request.POST if CONFIRMED in request.POST else None
    try:
        form = None
        if operation in FORMS:
            form = FORMS[operation](chosen if ended_too else chosen.filter(status__in=NOT_ENDED), sent)
        if form is not None and not form.is_valid():
            return _ask(model_admin, request, chosen, operation, form)
        asked = BatchRequest(
            operation,
            form.read_parameters() if form is not None else {},
            _describe_choice(request, is_across=is_across),
            is_dry_run=True,
            ended_too=ended_too,
        )
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
    found = list(chosen.order_by("pk").values_list("pk", flat=True)[:SHOWN])
    names = name_instances(found)
    count = chosen.order_by()[: MOST_INSTANCES + 1].count()
    words = ngettext("%(number)s instance:", "%(number)s instances:", count)
    question = Question(
        title=gettext("Set variables")
        if operation == WorkflowBatch.Operation.SET_VARIABLES
        else gettext("Move to a revision"),
        text=gettext(
            "Nothing is changed yet: a dry run first shows how many instances would be changed, and why others would "
            "be refused."
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
        "names": [names[pk] for pk in found if pk in names],
        "more": max(0, count - SHOWN),
        "action": request.POST["action"],
        "select_across": request.POST.get("select_across", "0"),
        "checkbox": ACTION_CHECKBOX_NAME,
        "ticked": request.POST.getlist(ACTION_CHECKBOX_NAME),
        "back": request.get_full_path(),
        "are_names_words": True,
        "is_in_batches": False,
    }
    return TemplateResponse(request, "admin_base/confirm_many.html", context)
