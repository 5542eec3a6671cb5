"""Requeue chosen messages: confirmed once, with one reason for all, then counted."""

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext, ngettext

from config.admin_base.pages import Question, actor_of
from config.admin_base.theme import ModelAdmin
from config.common.errors import ApplicationError
from messaging.admin.reason_form import ReasonForm
from messaging.models import Message
from messaging.services.requeue import requeue_message

MOST_AT_ONCE = 500
SHOWN = 10


def requeue_many(
    model_admin: ModelAdmin[Message], request: HttpRequest, chosen: QuerySet[Message]
) -> HttpResponse | None:
    """Return the page that asks for the reason; once given, requeue what can be, show the counts and return None."""
    form = ReasonForm(request.POST if "confirmed" in request.POST else None)
    if "confirmed" not in request.POST or not form.is_valid():
        return _ask(model_admin, request, chosen, form)
    done = refused = 0
    for pk in chosen.order_by("pk").values_list("pk", flat=True)[:MOST_AT_ONCE]:
        try:
            requeue_message(message_id=pk, reason=form.cleaned_data["reason"], actor=actor_of(request))
        except ApplicationError:
            refused += 1
        else:
            done += 1
    _show_counts(request, done, refused)
    return None


def _show_counts(request: HttpRequest, done: int, refused: int) -> None:
    text = ngettext("%(count)d message is back in the queue.", "%(count)d messages are back in the queue.", done)
    messages.success(request, text % {"count": done})
    if refused:
        text = ngettext(
            "%(count)d was left out: only what ended in Error, and has a file, can go back.",
            "%(count)d were left out: only what ended in Error, and has a file, can go back.",
            refused,
        )
        messages.warning(request, text % {"count": refused})


def _ask(
    model_admin: ModelAdmin[Message], request: HttpRequest, chosen: QuerySet[Message], form: forms.Form
) -> HttpResponse:
    ids = list(chosen.values_list("public_id", flat=True)[:MOST_AT_ONCE])
    question = Question(
        title=gettext("Put these messages back into the queue?"),
        text=gettext("The database is offered each of them again. Those that did not end in Error are left out."),
        button=gettext("Put back"),
    )
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": question.title,
        "question": question,
        "form": form,
        "ids": ids[:SHOWN],
        "more": max(0, len(ids) - SHOWN),
        "count": len(ids),
        "action": request.POST["action"],
        "select_across": request.POST.get("select_across", "0"),
        "checkbox": ACTION_CHECKBOX_NAME,
        "chosen": request.POST.getlist(ACTION_CHECKBOX_NAME),
    }
    return TemplateResponse(request, "admin/messaging/message/bulk.html", context)
