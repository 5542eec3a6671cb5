"""The one way of the pages to ask for something and do it: what is refused is told above what was typed."""

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
from processes.workflows.admin.labels import explain_refusal
from processes.workflows.errors import NotExecutable, VersionConflict


@dataclass(frozen=True)
class Outcome:
    said: str
    where: str
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
    """What else the page shows: read after what was asked for has been tried."""


def run_dialog(model_admin: ModelAdmin[Any], request: HttpRequest, asked: Dialog) -> HttpResponse:
    """Show the form; on POST do what it asks for, tell that and go on."""
    problems: list[dict[str, Any]] = []
    if request.method == "POST" and asked.form.is_valid():
        try:
            done = asked.act(asked.form.cleaned_data)
        except NotExecutable as error:
            problems = error.data["problems"]
        except ApplicationError as error:
            _tell(asked.form, error)
        else:
            messages.add_message(request, done.level, done.said)
            return HttpResponseRedirect(done.where)
    context = {
        **model_admin.admin_site.each_context(request),
        "opts": model_admin.opts,
        "title": asked.question.title,
        "original": asked.subject,
        "question": asked.question,
        "form": asked.form,
        "media": model_admin.media + asked.form.media,
        "back": asked.back,
        "problems": problems,
        **asked.extra(),
    }
    return TemplateResponse(request, asked.template, context)


def _tell(form: forms.Form, error: ApplicationError) -> None:
    if isinstance(error, Invalid):
        add_errors(form, error)
        return
    form.add_error(None, explain_refusal(error))
    if isinstance(error, VersionConflict) and "version" in form.fields:
        # The form names the newest version from now on: who sends it again knows of it.
        form.data = {**{name: form.data[name] for name in form.data}, "version": str(error.data["version"])}
