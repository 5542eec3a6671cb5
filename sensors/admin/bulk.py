"""Actions on many chosen sensors: confirmed with their number, then done by one service."""

from collections.abc import Callable, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.functional import cached_property
from django.utils.translation import gettext
from unfold.paginator import InfinitePaginator as ThemedPaginator

from config.admin_base.pages import Question, explain
from config.admin_base.theme import ModelAdmin
from config.common.errors import ApplicationError
from sensors.models import Sensor

MOST = 100_000
SHOWN = 10


class InfinitePaginator(ThemedPaginator):  # type: ignore[misc]
    """Counts no further than an action may reach: the table may hold a million.

    Its name tells the theme's pages not to show the count.
    """

    @cached_property
    def count(self) -> int:
        within: int = self.object_list.order_by()[: MOST + 1].count()
        return within


def ask_about_many(
    model_admin: ModelAdmin[Sensor],
    request: HttpRequest,
    chosen: QuerySet[Sensor],
    *,
    question: Question,
    act: Callable[[Sequence[str], dict[str, Any]], str],
    form: forms.Form | None = None,
) -> HttpResponse | None:
    """Return the page that asks for confirmation; once confirmed, act, show the outcome and return None."""
    ids = list(chosen.values_list("pk", flat=True)[: MOST + 1])
    if len(ids) > MOST:
        messages.error(request, gettext("At most 100,000 sensors at once: narrow the list first."))
        return None
    confirmed = "confirmed" in request.POST and (form is None or form.is_valid())
    if not confirmed:
        return _ask(model_admin, request, ids, question, form)
    try:
        messages.success(request, act(ids, form.cleaned_data if form is not None else {}))
    except ApplicationError as error:
        messages.error(request, explain(error))
    return None


def _ask(
    model_admin: ModelAdmin[Sensor],
    request: HttpRequest,
    ids: Sequence[str],
    question: Question,
    form: forms.Form | None,
) -> HttpResponse:
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": question.title,
        "question": question,
        "form": form,
        "media": model_admin.media + (form.media if form is not None else forms.Media()),
        "ids": ids[:SHOWN],
        "more": max(0, len(ids) - SHOWN),
        "count": len(ids),
        "action": request.POST["action"],
        "select_across": request.POST.get("select_across", "0"),
        "checkbox": ACTION_CHECKBOX_NAME,
        "chosen": request.POST.getlist(ACTION_CHECKBOX_NAME),
    }
    return TemplateResponse(request, "admin/sensors/sensor/bulk.html", context)
