"""The commands that staff give an item of a case: at once by a button, or after a question where something ends."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext

from config.admin_base.pages import Question, actor_of, page_of
from config.admin_base.theme import ModelAdmin
from processes.workflows.admin.commands import report_failure
from processes.workflows.admin.dialog import Dialog, Outcome, run_dialog
from processes.workflows.admin.forms import SeenForm
from processes.workflows.admin.item_words import COMMANDS
from processes.workflows.admin.plan_card import name_item
from processes.workflows.heads import get_head
from processes.workflows.models import WorkflowInstance
from processes.workflows.services.commands import command_instance


def item_view(
    model_admin: ModelAdmin[WorkflowInstance], request: HttpRequest, instance: WorkflowInstance, item: str, command: str
) -> HttpResponse:
    """Do it on POST; who sent it from a page that is out of date is asked again, and so is everybody on GET."""
    wording, back = COMMANDS.get(command), page_of(model_admin, instance)
    if wording is None:
        raise Http404
    head = get_head(instance.pk)
    state = head.state or {}
    record = state.get("items", {}).get(item)
    if record is None:
        messages.warning(request, gettext("This item is not there any more: the instance has moved on."))
        return HttpResponseRedirect(back)
    named = {"item": name_item(state, record)}

    def act(answers: dict[str, Any]) -> Outcome:
        body = {"command": command, "item": item}
        seen = answers["version"]
        after = command_instance(instance.pk, body, actor=actor_of(request), at=timezone.now(), expected_version=seen)
        return report_failure(instance) if after.number == seen else Outcome(wording.said % named, back)

    question = Question(
        title=wording.title % named, text=str(wording.text), button=str(wording.label), dangerous=wording.asks
    )
    form = SeenForm(request.POST) if request.method == "POST" else SeenForm(initial={"version": head.number})
    return run_dialog(model_admin, request, Dialog(question, form, act, back, subject=instance))
