"""The trace page: what one call caused, in order of time, in lanes; how it ended and what is still to come."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.functional import Promise
from django.utils.timezone import localtime
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from config.audit.trace import ATTEMPT, LANES, Standing, Trace, TraceStep, read_trace
from config.common.actors import say_actor
from config.common.correlation import PATTERN
from config.common.ids import find_time
from config.common.text import clean_text
from config.common.times import MILLISECOND
from config.records.models import ChangeRecord, LogEntry
from messaging.models import Message
from notifications.models import Alert, Delivery, RepeatSession
from notifications.presentation import say_reason
from notifications.selectors import find_last_chain
from processes.coordination.admin.presentation import STATUSES as CHANGE_SET_STATUSES
from processes.exchange.models import ExchangeProcess
from processes.workflows.models import WorkflowEffect
from processes.workflows.models.instance import Status as WorkflowStatus
from sensors.presentation import REJECTIONS

KINDS: dict[str, Promise] = {
    "signal": _("signal"),
    "rejected": _("rejected signal"),
    "state": _("state"),
    "change": _("registry change"),
    "log": _("log entry"),
    "event": _("event"),
    "delivery": _("delivery"),
    ATTEMPT: _("attempt"),
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
    "rejected": REJECTIONS,
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
ACTOR = "actor"
"""The last lane: who acted, beside the lane of what they did."""
LANE_WORDS: dict[str, tuple[Promise, str]] = {
    "signal": (_("Signals"), "sensors"),
    "state": (_("State"), "sensor_door"),
    "change": (_("Registry changes"), "history_edu"),
    "log": (_("Log"), "receipt_long"),
    "event": (_("Events"), "bolt"),
    "delivery": (_("Deliveries"), "outgoing_mail"),
    "session": (_("Repeat sessions"), "replay"),
    "alert": (_("Alerts"), "notifications_active"),
    "message": (_("Messages"), "mail"),
    "process": (_("Exchange processes"), "sync_alt"),
    "workflow": (_("Workflow versions"), "account_tree"),
    "effect": (_("Effects"), "output"),
    "change_set": (_("Change sets"), "hub"),
    ACTOR: (_("Who acted"), "person"),
}
STANDINGS: dict[Standing, tuple[Promise, str]] = {
    Standing.DONE: (pgettext_lazy("trace", "done"), "success"),
    Standing.OPEN: (pgettext_lazy("trace", "under way"), "info"),
    Standing.FAILED: (pgettext_lazy("trace", "failed"), "danger"),
}
UNITS = (
    (timedelta(days=1), _("%(number)s d")),
    (timedelta(hours=1), _("%(number)s h")),
    (timedelta(minutes=1), _("%(number)s min")),
    (timedelta(seconds=1), _("%(number)s s")),
)
_dump = partial(json.dumps, ensure_ascii=False, indent=2, sort_keys=True)


@dataclass(frozen=True)
class Lane:
    name: str
    title: str
    icon: str


@dataclass(frozen=True)
class ShownStep:
    step: TraceStep
    kind: str
    outcome: str
    gap: str
    """How long after the step before it; empty for the first, and where less than a millisecond has passed."""
    column: int
    """Which of the lanes it is in."""
    data: str
    is_new_day: bool


@dataclass(frozen=True)
class TracePage:
    asked: str
    is_wrong: bool = False
    """What was typed cannot be a correlation id."""
    is_silent: bool = False
    """Nothing has happened yet to the row that was asked about."""
    given_at: datetime | None = None
    """When the id was given to a call, where it is one of ours and nothing carries it."""
    trace: Trace | None = None
    lanes: Sequence[Lane] = ()
    steps: Sequence[ShownStep] = ()
    outcome: tuple[str, str] | None = None
    """In words, and the colour of its badge."""
    duration: str = ""
    actors: Sequence[str] = ()


def trace_view(request: HttpRequest) -> HttpResponse:
    """Show the chain of `?id=`, as far as this person may see it; `?of=` leads to the newest chain about a subject."""
    subject = clean_text(request.GET.get("of", ""), 120)
    chain = find_last_chain(subject) if subject and request.user.has_perm("notifications.view_event") else ""
    if chain:
        return HttpResponseRedirect(reverse("trace-page", query={"id": chain}))
    asked = request.GET.get("id", "").strip()
    page = TracePage(asked, is_silent=True) if subject else _build(request, asked)
    context = {**admin.site.each_context(request), "title": gettext("Trace"), "page": page}
    return TemplateResponse(request, "dashboard/trace.html", context)


def _build(request: HttpRequest, asked: str) -> TracePage:
    if not PATTERN.fullmatch(asked):
        return TracePage(asked, is_wrong=bool(asked))
    trace = read_trace(asked, may=request.user.has_perm)
    if not trace.steps:
        return TracePage(asked, given_at=find_time(asked))
    actors = list(dict.fromkeys(say_actor(step.actor) for step in trace.steps if step.actor))
    used = {step.lane for step in trace.steps} | ({ACTOR} if actors else set())
    names = [name for name in (*LANES, *sorted(used - {*LANES, ACTOR}), ACTOR) if name in used]
    words = None if trace.outcome is None else STANDINGS[trace.outcome]
    return TracePage(
        asked,
        trace=trace,
        lanes=[_lane(name) for name in names],
        steps=_show(trace, names),
        outcome=None if words is None else (str(words[0]), words[1]),
        duration=format_gap(trace.duration),
        actors=actors,
    )


def _lane(name: str) -> Lane:
    title, icon = LANE_WORDS.get(name, (name, "extension"))
    return Lane(name, str(title), icon)


def _show(trace: Trace, lanes: list[str]) -> list[ShownStep]:
    shown: list[ShownStep] = []
    for step, gap in trace.with_gaps():
        shown.append(
            ShownStep(
                step,
                kind=str(KINDS.get(step.kind, step.kind)),
                outcome=_say_outcome(step),
                gap=format_gap(gap) if gap >= MILLISECOND else "",
                column=lanes.index(step.lane),
                data=_dump(step.data),
                is_new_day=not shown or localtime(shown[-1].step.at).date() != localtime(step.at).date(),
            )
        )
    return shown


def _say_outcome(step: TraceStep) -> str:
    """Return the outcome in the reader's language; those of plugins stay as they are."""
    if not step.outcome:
        return ""
    if step.kind == ATTEMPT:
        return say_reason(step.outcome)
    return str(OUTCOMES.get(step.kind, {}).get(step.outcome, step.outcome))


def format_gap(length: timedelta) -> str:
    """Return a length of time in its largest unit, to a tenth below ten; milliseconds below a second."""
    for unit, words in UNITS:
        if length >= unit:
            number = length / unit
            return words % {"number": number_format(number, 1 if number < 10 else 0)}
    return gettext("%(number)s ms") % {"number": number_format(length / timedelta(milliseconds=1), 0)}
