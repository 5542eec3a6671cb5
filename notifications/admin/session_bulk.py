"""Actions over many chosen sessions: asked once more with their number, then done batch by batch, then counted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext

from config.admin_base.pages import Question, explain
from config.admin_base.theme import ModelAdmin
from config.common.errors import ApplicationError
from notifications.admin.session_forms import ManyForm
from notifications.models import RepeatSession
from notifications.sessions.operator_actions import MOST_AT_ONCE

SHOWN = 10


@dataclass(frozen=True)
class Bulk:
    question: Question
    act: Callable[[Sequence[int], dict[str, Any]], int]
    """Do it to these sessions, with what the form holds; return to how many it was done."""
    say: Callable[[int], str]
    form: type[ManyForm] = ManyForm
    most: int = MOST_AT_ONCE


def ask_about_many(
    model_admin: ModelAdmin[RepeatSession], request: HttpRequest, chosen: QuerySet[RepeatSession], bulk: Bulk
) -> HttpResponse | None:
    """Show the question; once it is confirmed act, tell how many, and return to the list."""
    if "confirmed" not in request.POST:
        ids = list(chosen.order_by("pk").values_list("pk", flat=True)[: bulk.most + 1])
        if len(ids) <= bulk.most:
            return _ask(model_admin, request, ids, bulk, bulk.form(initial={"numbers": ",".join(map(str, ids))}))
        said = gettext("At most %(most)s sessions at once: narrow the list first.")
        messages.error(request, said % {"most": number_format(bulk.most, force_grouping=True)})
        return None
    form = bulk.form(request.POST)
    if not form.is_valid():
        return _ask(model_admin, request, form.cleaned_data.get("numbers", []), bulk, form)
    _act(request, bulk, form.cleaned_data)
    return None


def _act(request: HttpRequest, bulk: Bulk, answers: dict[str, Any]) -> None:
    ids: Sequence[int] = answers["numbers"][: bulk.most]
    try:
        done = bulk.act(ids, answers)
    except ApplicationError as error:
        messages.error(request, explain(error))
        return
    messages.success(request, bulk.say(done))
    if done < len(ids):
        said = ngettext(
            "%(count)d was left out: it is in another state by now, or gone.",
            "%(count)d were left out: they are in another state by now, or gone.",
            len(ids) - done,
        )
        messages.warning(request, said % {"count": len(ids) - done})


def _ask(
    model_admin: ModelAdmin[RepeatSession], request: HttpRequest, ids: Sequence[int], bulk: Bulk, form: ManyForm
) -> HttpResponse:
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": bulk.question.title,
        "question": bulk.question,
        "form": form,
        "ids": ids[:SHOWN],
        "more": max(0, len(ids) - SHOWN),
        "count": len(ids),
        "action": request.POST["action"],
        "checkbox": ACTION_CHECKBOX_NAME,
        "back": request.get_full_path(),
    }
    return TemplateResponse(request, "admin/notifications/repeatsession/bulk.html", context)
