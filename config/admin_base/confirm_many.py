"""The one dialog for an action over many chosen rows: it names them, asks what is needed, acts and reports counts.

With a script (`many.js`) it acts batch by batch under a bar; each batch is a call of its own and committed at its end,
so that a page that is closed half-way has done what its bar showed. Without one, all is done by one call.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from django import forms
from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Field, Model, QuerySet
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.response import TemplateResponse
from django.utils.formats import number_format
from django.utils.translation import gettext

from config.admin_base.pages import Question, explain
from config.admin_base.theme import ModelAdmin
from config.common.errors import ApplicationError

if TYPE_CHECKING:
    from django.utils.functional import _StrPromise

CONFIRMED = "confirmed"
SHOWN = 10
BATCH = 500
"""Rows of one call of the script."""
M = TypeVar("M", bound=Model)
SayRows = Callable[[QuerySet[Any]], list[str]]
KeyT = TypeVar("KeyT")


def say_each(rows: QuerySet[Any]) -> list[str]:
    """Return each row as it calls itself."""
    return [str(row) for row in rows]


@dataclass(frozen=True)
class Report:
    """What staff read afterwards."""

    done: str
    left_out: str = ""
    """Why some of the chosen rows were left out; empty if none was."""


@dataclass(frozen=True)
class Tally:
    done: int
    left_out: int = 0

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.done + other.done, self.left_out + other.left_out)


@dataclass(frozen=True)
class ManyAction:
    question: Question
    act: Callable[[Sequence[Any], dict[str, Any]], Tally]
    """Do it to the rows of these keys, with what the form holds."""
    describe: Callable[[Tally], Report]
    counted: "_StrPromise"
    """The number of the rows in words, such as “3 sensors:”, from `ngettext_lazy` by `count`."""
    most: int
    too_many: str = ""
    """What is said of more rows than `most`; empty: the first so many are taken."""
    form: type[forms.Form] = forms.Form
    shown_as: str | SayRows = say_each
    """How the dialog says what the rows are about: in words; or by a column, where staff know that of each by heart."""
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
    if is_confirmed and is_valid and not action.is_fixed and "application/json" in request.headers.get("Accept", ""):
        return _act_on_batch(request, chosen, action, form.cleaned_data)
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
    try:
        tally = action.act(keys, form.cleaned_data)
    except ApplicationError as error:
        messages.error(request, explain(error))
        return None
    _report(request, action.describe(tally))
    return None


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


class ProgressForm(forms.Form):
    """How far the batches have come."""

    after = forms.CharField(required=False, max_length=64)
    seen = forms.IntegerField(required=False, min_value=0)
    done = forms.IntegerField(required=False, min_value=0)
    left_out = forms.IntegerField(required=False, min_value=0)

    def __init__(self, *args: Any, key: "Field[Any, Any]", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._key = key

    def clean_after(self) -> Any:
        """Return the key of the last row that is behind; None before the first batch."""
        after = self.cleaned_data["after"]
        return self._key.to_python(after) if after else None


def _act_on_batch(
    request: HttpRequest, chosen: QuerySet[Any], action: ManyAction, answers: dict[str, Any]
) -> JsonResponse:
    """Act on the rows that follow the last batch, by their keys: rows that leave the list by the act are behind it."""
    progress = ProgressForm(request.POST, key=chosen.model._meta.pk)
    if not progress.is_valid():
        return JsonResponse({"error": gettext("The page is out of date: load it again.")}, status=400)
    before = {name: progress.cleaned_data[name] or 0 for name in ("seen", "done", "left_out")}
    rows = chosen.order_by("pk")
    if progress.cleaned_data["after"] is not None:
        rows = rows.filter(pk__gt=progress.cleaned_data["after"])
    size = max(0, min(BATCH, action.most - before["seen"]))
    keys = list(rows.values_list("pk", flat=True)[: size + 1])
    is_over, keys = len(keys) <= size or before["seen"] + size >= action.most, keys[:size]
    try:
        tally = action.act(keys, answers) if keys else Tally(0)
    except ApplicationError as error:
        return JsonResponse({"error": explain(error)}, status=409)
    total = Tally(before["done"], before["left_out"]) + tally
    if is_over:
        _report(request, action.describe(total))
    return JsonResponse(
        {
            "after": str(keys[-1]) if keys else "",
            "seen": before["seen"] + len(keys),
            "done": total.done,
            "left_out": total.left_out,
            "is_over": is_over,
        }
    )


def _report(request: HttpRequest, report: Report) -> None:
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
        "count_words": action.counted % {"count": len(keys), "number": number_format(len(keys))},
        "names": _find_names(model_admin, keys[:SHOWN], action.shown_as),
        "are_names_words": not isinstance(action.shown_as, str),
        "more": max(0, len(keys) - SHOWN),
        "action": request.POST["action"],
        "select_across": "0" if action.is_fixed else request.POST.get("select_across", "0"),
        "checkbox": ACTION_CHECKBOX_NAME,
        "ticked": [str(key) for key in ticked],
        "back": request.get_full_path(),
        "is_in_batches": not action.is_fixed and len(keys) > BATCH // 10,
    }
    return TemplateResponse(request, "admin_base/confirm_many.html", context)


def _find_names(model_admin: ModelAdmin[M], keys: Sequence[Any], shown_as: str | SayRows) -> list[str]:
    """Return the names as text: a template would group the digits of a number by the rules of the language."""
    rows = model_admin.model._default_manager.filter(pk__in=keys).order_by("pk")
    if isinstance(shown_as, str):
        return [str(name) for name in rows.values_list(shown_as, flat=True)]
    return shown_as(rows)
