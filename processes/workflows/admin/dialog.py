"""One dialog for every page that asks before it acts: a question, a form, and refusals shown above what was typed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse

from config.admin_base.pages import Question, add_errors
from config.admin_base.theme import ModelAdmin
from config.common.errors import ApplicationError, Invalid
from processes.workflows.admin.presentation import explain_refusal
from processes.workflows.errors import NotExecutable, VersionConflict


@dataclass(frozen=True)
class Outcome:
    message: str
    url: str
    """The page to go to."""
    level: int = messages.SUCCESS


@dataclass(frozen=True)
class Dialog:
    question: Question
    form: forms.Form
    act: Callable[[dict[str, Any]], Outcome]
    back: str
    subject: object = None
    template: str = "admin/workflows/form.html"
    extra: Callable[[], Mapping[str, Any]] = field(default=dict)
    """Further context of the page, read after `act` was tried."""


def run_dialog(model_admin: ModelAdmin[Any], request: HttpRequest, dialog: Dialog) -> HttpResponse:
    """Show the form; on POST call `act` and go to the page of its outcome, or show why it was refused."""
    problems: list[dict[str, Any]] = []
    if request.method == "POST" and dialog.form.is_valid():
        try:
            outcome = dialog.act(dialog.form.cleaned_data)
        except NotExecutable as error:
            problems = error.data["problems"]
        except ApplicationError as error:
            _show_refusal(dialog.form, error)
        else:
            messages.add_message(request, outcome.level, outcome.message)
            return HttpResponseRedirect(outcome.url)
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": dialog.question.title,
        "original": dialog.subject,
        "question": dialog.question,
        "form": dialog.form,
        "media": model_admin.media + dialog.form.media,
        "back": dialog.back,
        "problems": problems,
        **dialog.extra(),
    }
    return TemplateResponse(request, dialog.template, context)


def _show_refusal(form: forms.Form, error: ApplicationError) -> None:
    if isinstance(error, Invalid):
        add_errors(form, error)
        return
    form.add_error(None, explain_refusal(error))
    if isinstance(error, VersionConflict) and "version" in form.fields:
        # The form carries the newest version from now on: whoever sends it again has been told of it.
        form.data = {**{name: form.data[name] for name in form.data}, "version": str(error.data["version"])}
