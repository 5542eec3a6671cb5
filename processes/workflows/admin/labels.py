"""How pages word workflows: how instances fare, what elements and refusals are called."""

import re
from collections.abc import Mapping
from datetime import datetime

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.timezone import localtime
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from config.admin_base.pages import badge
from config.common.errors import ApplicationError
from config.common.times import format_time
from processes.workflows.engine.definition import NodeKind, TimerKind, Trigger
from processes.workflows.errors import NotPossible, VersionConflict
from processes.workflows.models.instance import Status

COLOURS = {
    Status.ACTIVE: "info",
    Status.COMPLETED: "success",
    Status.TERMINATED: "default",
    Status.INCIDENT: "danger",
    Status.SUSPENDED: "warning",
    Status.CLOSED: "default",
}
KINDS: dict[str, Promise] = {
    NodeKind.START: _("start event"),
    NodeKind.END: _("end event"),
    NodeKind.CATCH: _("catching event"),
    NodeKind.THROW: _("throwing event"),
    NodeKind.BOUNDARY: _("boundary event"),
    NodeKind.TASK: _("task"),
    NodeKind.USER_TASK: _("user task"),
    NodeKind.MANUAL_TASK: _("manual task"),
    NodeKind.SERVICE_TASK: _("service task"),
    NodeKind.SCRIPT_TASK: _("script task"),
    NodeKind.SEND_TASK: _("send task"),
    NodeKind.RECEIVE_TASK: _("receive task"),
    NodeKind.EXCLUSIVE: _("exclusive gateway"),
    NodeKind.PARALLEL: _("parallel gateway"),
    NodeKind.INCLUSIVE: _("inclusive gateway"),
    NodeKind.EVENT_BASED: _("event-based gateway"),
    NodeKind.SUB_PROCESS: _("sub-process"),
    NodeKind.EVENT_SUB_PROCESS: _("event sub-process"),
    NodeKind.CALL_ACTIVITY: _("call activity"),
    NodeKind.CASE_PLAN: _("case plan"),
    NodeKind.STAGE: _("stage"),
    NodeKind.HUMAN_TASK: _("human task"),
    NodeKind.PROCESS_TASK: _("process task"),
    NodeKind.CASE_TASK: _("case task"),
    NodeKind.MILESTONE: _("milestone"),
    NodeKind.TIMER_LISTENER: _("timer event listener"),
    NodeKind.USER_LISTENER: _("user event listener"),
}
WAITED_FOR: dict[str, Promise] = {
    TimerKind.DATE: pgettext_lazy("timer", "at a time"),
    TimerKind.DURATION: pgettext_lazy("timer", "after a time"),
    TimerKind.CYCLE: pgettext_lazy("timer", "again and again"),
    Trigger.MESSAGE: pgettext_lazy("event", "message"),
    Trigger.SIGNAL: pgettext_lazy("event", "signal"),
}


CAUSES: dict[str, Promise] = {
    "created": _("created; the start failed"),
    "start": _("started"),
    "event": _("event"),
    "timer": _("started by the timer"),
    "complete_task": _("task completed:"),
    "complete_job": _("work done:"),
    "fail_job": _("work failed:"),
    "fire_timer": _("timer fired:"),
    "send_message": _("message sent:"),
    "set_variables": _("variables changed"),
    "suspend": _("suspended"),
    "resume": _("resumed"),
    "terminate": _("terminated"),
    "migrate": _("moved to another revision"),
    "start_item": _("item started:"),
    "occur": _("event occurred:"),
    "disable": _("item disabled:"),
    "reenable": _("item enabled again:"),
    "suspend_item": _("item suspended:"),
    "resume_item": _("item resumed:"),
    "terminate_item": _("item terminated:"),
    "complete_item": _("item completed:"),
    "close": _("closed"),
}
_RETURN = re.compile(r"return to (\d+): (.*)", re.DOTALL)


def describe_cause(cause: str, names: Mapping[str, str]) -> str:
    """Tell what led to a version: what was done, and the name of the element it was about."""
    way_back = _RETURN.fullmatch(cause)
    if way_back:
        return gettext("returned to version %(version)s: %(reason)s") % {
            "version": way_back[1],
            "reason": way_back[2],
        }
    what, _space, about = cause.partition(" ")
    if what == "start" and about:
        what = "start_item"  # an item of a case; an instance as a whole is about nothing else
    if what not in CAUSES:
        return cause
    return " ".join(filter(None, [str(CAUSES[what]), names.get(about, about)]))


def status_badge(status: str) -> SafeString:
    known = Status(status)
    return badge(known.label, COLOURS[known])


def kind_label(kind: str) -> str:
    return str(KINDS.get(kind, kind))


def wait_label(kind: str) -> str:
    return str(WAITED_FOR.get(kind, kind))


def time_html(moment: datetime) -> SafeString:
    """Write a time to the second: steps of an instance follow each other within one."""
    try:
        local = localtime(moment)
        text = f"{date_format(local, 'DATE_FORMAT')} {date_format(local, 'H:i:s')}"
    except OverflowError:  # a timer may be set to the last hour of the year 9999, which is over elsewhere
        text = format_time(moment)
    return format_html('<span class="pst-nowrap">{}</span>', text)


def age_html(moment: datetime) -> SafeString:
    """Say how long ago something was; the exact time is shown on pointing."""
    age = timezone.now() - moment
    seconds = max(0, round(age.total_seconds()))
    words = gettext("%(seconds)s s") % {"seconds": seconds} if seconds < 60 else timesince(moment, depth=1)
    exact = date_format(localtime(moment), "DATETIME_FORMAT")
    return format_html('<span class="pst-nowrap" title="{}">{}</span>', exact, words)


def explain_refusal(error: ApplicationError) -> str:
    """Tell a person why something was not done."""
    if isinstance(error, VersionConflict):
        return gettext(
            "The instance has moved on since you opened this page: it is at version %(version)s now. Nothing has been "
            "done. Look at it again; if it still fits, send this once more."
        ) % {"version": error.data.get("version", "?")}
    if isinstance(error, NotPossible):
        return gettext("That is not possible now: %(reason)s") % {"reason": error.data.get("reason", "")}
    return error.message
