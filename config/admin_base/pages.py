"""What the admin pages of every app share: read-only lists, pages without a full count, questions before an action."""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django import forms
from django.contrib import messages
from django.contrib.admin.utils import quote
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_lazy
from unfold.widgets import UnfoldAdminTextInputWidget

from config.admin_base.lists import ListAdmin
from config.admin_base.theme import ModelAdmin
from config.audit.selectors import visible_changes
from config.common.errors import ApplicationError, Invalid
from config.records.models import ChangeRecord

CHANGES_SHOWN = 10
M = TypeVar("M", bound=Model)


class ReadOnlyAdmin(ListAdmin[M]):
    """Rows that services write: shown, never edited by a form."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: M | None = None) -> bool:
        return False


class BigTableAdmin(ReadOnlyAdmin[M]):
    """A table that grows: newest first by its key."""

    not_listed: tuple[str, ...] = ()
    """Columns of any length, which the page of a row shows and the list does not read."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[M]:
        return super().get_queryset(request).defer(*self.not_listed)


class ReadOnceAdmin(ListAdmin[M]):
    """Reads an object once for a page that only shows it: its form, and what stands beside the form."""

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> M | None:
        if request.method != "GET":
            return super().get_object(request, object_id, from_field)
        known: dict[str, M | None] = request.__dict__.setdefault("_read_objects", {})
        if object_id not in known:
            known[object_id] = super().get_object(request, object_id, from_field)
        return known[object_id]


@dataclass(frozen=True)
class Comparison:
    name: str
    now: Any
    then: Any


@dataclass(frozen=True)
class Question:
    title: str
    text: str
    button: str
    dangerous: bool = False
    details: Sequence[tuple[str, str]] = ()
    """What it is about, thing by thing: each with what becomes of it."""
    comparison: Sequence["Comparison"] = ()
    """The values that change, as they are and as they will be."""


def reason_field(help_text: Any, *, longest: int = 200) -> forms.CharField:
    """Return the field in which staff give the reason of an action."""
    return forms.CharField(
        label=gettext_lazy("Reason"), max_length=longest, help_text=help_text, widget=UnfoldAdminTextInputWidget
    )


class OnceForm(forms.Form):
    """A question whose answer must not count twice."""

    form_id = forms.UUIDField(initial=uuid.uuid4, widget=forms.HiddenInput)


def ask_then_act(
    model_admin: ModelAdmin[M],
    request: HttpRequest,
    subject: M,
    *,
    question: Question,
    act: Callable[[dict[str, Any]], str],
    form: forms.Form | None = None,
    after: str = "",
) -> HttpResponse:
    """Show the question on GET; on POST act, show the outcome as a message and redirect to the page of the subject.

    Where the act takes the subject away, `after` is the page to go to once that is done.
    """
    if request.method != "POST" or (form is not None and not form.is_valid()):
        return _ask(model_admin, request, subject, question, form)
    try:
        messages.success(request, act(form.cleaned_data if form is not None else {}))
    except ApplicationError as error:
        messages.error(request, explain(error))
        return HttpResponseRedirect(page_of(model_admin, subject))
    return HttpResponseRedirect(after or page_of(model_admin, subject))


def _ask(
    model_admin: ModelAdmin[M], request: HttpRequest, subject: M, question: Question, form: forms.Form | None
) -> HttpResponse:
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": question.title,
        "original": subject,
        "question": question,
        "form": form,
        "back": page_of(model_admin, subject),
    }
    return TemplateResponse(request, "admin_base/question.html", context)


def get_subject(model_admin: ModelAdmin[M], request: HttpRequest, object_id: str) -> M:
    subject = model_admin.get_object(request, object_id)
    if subject is None:
        raise Http404
    return subject


def page_of(model_admin: ModelAdmin[M], subject: M) -> str:
    opts = model_admin.opts
    return reverse(f"admin:{opts.app_label}_{opts.model_name}_change", args=[quote(subject.pk)])


def explain(error: ApplicationError) -> str:
    """Return the message of an error, with the reason that it carries."""
    reason = error.data.get("reason")
    return f"{error.message} {reason}" if reason else error.message


def add_errors(form: forms.Form, error: Invalid) -> None:
    """Show what a service refused: each rule at its field, above the form where it has no such field."""
    for field, rules in error.data["fields"].items():
        form.add_error(field if field in form.fields else None, rules)


def badge(text: Any, colour: str) -> SafeString:
    """Render a word on a colour of the theme: success, info, warning, danger."""
    return SafeString(render_to_string("unfold/helpers/label.html", {"text": text, "type": colour}))


def active_badge(active: bool) -> SafeString:
    return badge(gettext("active"), "success") if active else badge(gettext("inactive"), "default")


def recent_changes(request: HttpRequest, kind: str, object_id: str) -> list[ChangeRecord]:
    """Return the newest changes of one object, for the card of its page."""
    changes = visible_changes(request.user).filter(kind=kind, object_id=object_id)
    return list(changes.select_related("reverted_by")[:CHANGES_SHOWN])


def trace_link(correlation_id: str) -> SafeString | str:
    """Link a correlation id to the page of what it caused."""
    if not correlation_id:
        return "–"
    page = reverse("trace-page", query={"id": correlation_id})
    return format_html('<a class="pst-link" href="{}">{}</a>', page, correlation_id)


def actor_of(request: HttpRequest) -> str:
    """Return how logs and rows name the person who acts."""
    return f"staff:{request.user.get_username()}"
