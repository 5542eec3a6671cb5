"""The one dialog for an action over many chosen rows: it names them, asks what is needed, acts and reports counts."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.functional import cached_property
from unfold.paginator import InfinitePaginator as ThemedPaginator

from config.admin_base.pages import Question, explain
from config.admin_base.theme import ModelAdmin
from config.common.errors import ApplicationError

CONFIRMED = "confirmed"
SHOWN = 10
M = TypeVar("M", bound=Model)
KeyT = TypeVar("KeyT")


@dataclass(frozen=True)
class Report:
    """What staff read afterwards."""

    done: str
    left_out: str = ""
    """Why some of the chosen rows were left out; empty if none was."""


@dataclass(frozen=True)
class ManyAction:
    question: Question
    act: Callable[[Sequence[Any], dict[str, Any]], Report]
    """Do it to the rows of these keys, with what the form holds."""
    count_words: Callable[[int], str]
    """Word the number of the rows, such as “3 sensors:”."""
    most: int
    too_many: str = ""
    """What is said of more rows than `most`; empty: the first so many are taken."""
    form: type[forms.Form] = forms.Form
    shown_as: str = "pk"
    """The column by which the dialog names the rows."""
    is_fixed: bool = False
    """Act on the rows that the dialog has counted, whatever the list shows by then. They are sent with the form, so
    `form` has a field `keys` for them."""


def confirm_many(
    model_admin: ModelAdmin[M], request: HttpRequest, chosen: QuerySet[M], action: ManyAction
) -> HttpResponse | None:
    """Show the dialog; once it is confirmed act, report, and return to the list."""
    is_confirmed = CONFIRMED in request.POST
    form = action.form(request.POST if is_confirmed else None)
    is_valid = form.is_valid()
    if is_confirmed and action.is_fixed:
        keys = form.cleaned_data.get("keys", [])
    else:
        keys = list(chosen.order_by("pk").values_list("pk", flat=True)[: action.most + 1])
    if len(keys) > action.most and action.too_many:
        messages.error(request, action.too_many)
        return None
    keys = keys[: action.most]
    if not is_confirmed or not is_valid:
        return _ask(model_admin, request, keys, action, form)
    _act(request, keys, action, form.cleaned_data)
    return None


def bounded_paginator(most: int) -> "type[Paginator[Any]]":
    """Return a paginator that counts as far as an action may reach, and no further: the table may hold a million."""

    # The theme's templates know by the name of the class that the count is not one to show.
    class InfinitePaginator(ThemedPaginator):  # type: ignore[misc]
        @cached_property
        def count(self) -> int:
            within: int = self.object_list.order_by()[: most + 1].count()
            return within

    return InfinitePaginator


def apply_to_each(keys: Iterable[KeyT], act: Callable[[KeyT], object]) -> tuple[int, int]:
    """Do something to each row by itself; return how often it was done, and how often refused.

    An act that returns False has done nothing and was not refused either.
    """
    done = refused = 0
    for key in keys:
        try:
            done += act(key) is not False
        except ApplicationError:
            refused += 1
    return done, refused


def _act(request: HttpRequest, keys: Sequence[Any], action: ManyAction, answers: dict[str, Any]) -> None:
    try:
        report = action.act(keys, answers)
    except ApplicationError as error:
        messages.error(request, explain(error))
        return
    messages.success(request, report.done)
    if report.left_out:
        messages.warning(request, report.left_out)


def _ask(
    model_admin: ModelAdmin[M], request: HttpRequest, keys: Sequence[Any], action: ManyAction, form: forms.Form
) -> HttpResponse:
    if action.is_fixed:
        form.initial["keys"] = ",".join(map(str, keys))
    # Django runs an action for the rows that are ticked, so they are sent again. Where the form holds the keys, one row
    # is enough.
    ticked = keys[:1] if action.is_fixed else request.POST.getlist(ACTION_CHECKBOX_NAME)
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": action.question.title,
        "question": action.question,
        "form": form,
        "media": model_admin.media + form.media,
        "count": len(keys),
        "count_words": action.count_words(len(keys)),
        "names": _find_names(model_admin, keys[:SHOWN], action.shown_as),
        "more": max(0, len(keys) - SHOWN),
        "action": request.POST["action"],
        "select_across": "0" if action.is_fixed else request.POST.get("select_across", "0"),
        "checkbox": ACTION_CHECKBOX_NAME,
        "ticked": [str(key) for key in ticked],
        "back": request.get_full_path(),
    }
    return TemplateResponse(request, "records/confirm_many.html", context)


def _find_names(model_admin: ModelAdmin[M], keys: Sequence[Any], column: str) -> list[str]:
    """Return the names as text: a template would group the digits of a number by the rules of the language."""
    if column == "pk":
        return [str(key) for key in keys]
    rows = model_admin.model._default_manager.filter(pk__in=keys).order_by("pk")
    return [str(name) for name in rows.values_list(column, flat=True)]
