"""The two answers to a compensation that failed, each asked for with a reason."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.admin_base.pages import Question, actor_of, ask_then_act, page_of, reason_field
from config.admin_base.theme import ModelAdmin
from processes.coordination.models import AppEvent
from processes.coordination.protocol.statuses import EventStatus
from processes.coordination.writer.resolution import Action, resolve_compensation


class ReasonForm(forms.Form):
    reason = reason_field(_("What you found or did; it is kept with the change set, with your name."), longest=500)


def resolve_view(
    model_admin: ModelAdmin[AppEvent], request: HttpRequest, event: AppEvent, action: Action
) -> HttpResponse:
    """Ask for the reason; on POST resolve the compensation and show the outcome."""
    if event.status != EventStatus.COMPENSATION_FAILED:
        messages.info(request, gettext("This change set has already been resolved."))
        return HttpResponseRedirect(page_of(model_admin, event))

    def act(answers: dict[str, Any]) -> str:
        resolve_compensation(
            event.pk, action=action, reason=answers["reason"], actor=actor_of(request), at=timezone.now()
        )
        if action == Action.RETRY:
            return gettext("The change set has been undone.")
        return gettext("The Writer's values are kept.")

    form = ReasonForm(request.POST if request.method == "POST" else None)
    return ask_then_act(model_admin, request, event, question=_question(action), act=act, form=form)


def _question(action: Action) -> Question:
    if action == Action.RETRY:
        return Question(
            title=gettext("Try again to undo this change set?"),
            text=gettext(
                "Either all its rows get back the values they had before, or none does. If something still prevents "
                "it, nothing changes and you are told what it is."
            ),
            button=gettext("Try again"),
        )
    return Question(
        title=gettext("Accept the Writer's values?"),
        text=gettext(
            "The Writer's rows stay as they are and nothing is undone any more. Rows that nothing newer has changed "
            "are sent to the readers again as a new change set, so that all sides agree in the end: first fix what "
            "the readers refused, or they will refuse the new one too."
        ),
        button=gettext("Accept the Writer's values"),
        dangerous=True,
    )
