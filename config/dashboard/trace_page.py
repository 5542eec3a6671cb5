"""The trace page: what one call caused, in order of time, each step with the way to its own page."""

import json
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from config.audit.trace import TraceStep, collect_trace
from config.common.correlation import PATTERN
from config.records.models import ChangeRecord, LogEntry
from messaging.models import Message
from notifications.models import Alert, Delivery, RepeatSession
from processes.coordination.admin.presentation import STATUSES as CHANGE_SET_STATUSES
from processes.exchange.models import ExchangeProcess
from processes.workflows.models import WorkflowEffect
from processes.workflows.models.instance import Status as WorkflowStatus

KINDS: dict[str, Promise] = {
    "change": _("registry change"),
    "log": _("log entry"),
    "event": _("event"),
    "delivery": _("delivery"),
    "attempt": _("attempt"),
    "alert": _("alert"),
    "message": _("message"),
    "reply": _("reply"),
    "process": _("exchange process"),
    "session": _("repeat session"),
    "workflow": _("workflow instance"),
    "effect": _("effect"),
    "coordination": _("change set"),
}
OUTCOMES: dict[str, dict[str, Any]] = {
    "change": dict(ChangeRecord.Action.choices),
    "log": dict(LogEntry.Level.choices),
    "delivery": dict(Delivery.Status.choices),
    "alert": dict(Alert.Status.choices),
    "message": dict(Message.Status.choices),
    "reply": dict(Message.Status.choices),
    "process": dict(ExchangeProcess.Status.choices),
    "workflow": dict(WorkflowStatus.choices),
    "effect": dict(WorkflowEffect.Status.choices),
    "session": dict(RepeatSession.Status.choices),
    "coordination": {status.title: words for status, words in CHANGE_SET_STATUSES.items()},
}


@dataclass(frozen=True)
class TracePage:
    asked: str
    is_wrong: bool
    """What was typed cannot be a correlation id."""
    steps: list[tuple[TraceStep, str]]
    """Each with its data as text."""


def trace_view(request: HttpRequest) -> HttpResponse:
    """Show the chain of `?id=`, as far as this person may see it; without it only the field to type it into."""
    context: dict[str, Any] = {
        **admin.site.each_context(request),
        "title": gettext("Trace"),
        "trace": _build(request, request.GET.get("id", "").strip()),
    }
    return TemplateResponse(request, "dashboard/trace.html", context)


def _build(request: HttpRequest, asked: str) -> TracePage:
    if not PATTERN.fullmatch(asked):
        return TracePage(asked, is_wrong=bool(asked), steps=[])
    steps = collect_trace(asked, may=request.user.has_perm)
    dump = partial(json.dumps, ensure_ascii=False, indent=2, sort_keys=True)
    return TracePage(asked, is_wrong=False, steps=[(_translate(step), dump(step.data)) for step in steps])


def _translate(step: TraceStep) -> TraceStep:
    """Return the step with its kind and outcome in the reader's language; those of plugins stay as they are."""
    outcome = step.outcome and str(OUTCOMES.get(step.kind, {}).get(step.outcome, step.outcome))
    return replace(step, kind=str(KINDS.get(step.kind, step.kind)), outcome=outcome)
