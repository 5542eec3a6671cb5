"""Labels, badges and texts of workflows on admin pages."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from config.admin_base.pages import badge
from config.admin_base.times import time_element
from config.common.errors import ApplicationError
from notifications.event_titles import event_title
from processes.workflows.engine.definition import NodeKind, TimerKind, Trigger
from processes.workflows.errors import NotPossible, ScenariosFailed, TaskTaken, VersionConflict
from processes.workflows.models.instance import Status
from processes.workflows.reasons import translate_reason
from processes.workflows.scenario_words import say_failure

MOST_FAILURES = 5
"""Of scenarios, that are named where a file is refused."""
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
    NodeKind.BUSINESS_RULE_TASK: _("business rule task"),
    NodeKind.CASE_PLAN: _("case plan"),
    NodeKind.STAGE: _("stage"),
    NodeKind.HUMAN_TASK: _("human task"),
    NodeKind.PROCESS_TASK: _("process task"),
    NodeKind.CASE_TASK: _("case task"),
    NodeKind.DECISION_TASK: _("decision task"),
    NodeKind.MILESTONE: _("milestone"),
    NodeKind.TIMER_LISTENER: _("timer event listener"),
    NodeKind.USER_LISTENER: _("user event listener"),
}
WAITED_FOR: dict[str, Promise] = {
    TimerKind.DATE: pgettext_lazy("timer", "at a time"),
    TimerKind.DURATION: pgettext_lazy("timer", "after a time"),
    TimerKind.CYCLE: pgettext_lazy("timer", "repeatedly"),
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
    "plan": _("item planned:"),
    "occur": _("event occurred:"),
    "disable": _("item disabled:"),
    "reenable": _("item enabled again:"),
    "suspend_item": _("item suspended:"),
    "resume_item": _("item resumed:"),
    "terminate_item": _("item terminated:"),
    "complete_item": _("item completed:"),
    "close": _("closed"),
    "reactivate": _("reactivated"),
    "reactivate_item": _("item reactivated:"),
}


@dataclass(frozen=True)
class CommandWording:
    """How pages word a command: on its button, in the question before it, in the message after it."""

    label: Promise
    title: Promise
    text: Promise
    success: Promise
    is_frequent: bool = False
    needs_confirmation: bool = False


ITEM_COMMANDS: dict[str, CommandWording] = {
    "start": CommandWording(
        _("Start"),
        _("Start “%(item)s”?"),
        _("It becomes active and its work begins."),
        _("Started: “%(item)s”."),
        is_frequent=True,
    ),
    "occur": CommandWording(
        _("Mark as occurred"),
        _("Has “%(item)s” happened?"),
        _("Everything waiting for this event begins or ends at once."),
        _("Occurred: “%(item)s”."),
        is_frequent=True,
    ),
    "complete_item": CommandWording(
        _("Complete"),
        _("Complete “%(item)s”?"),
        _("It counts as done, and everything in it that has not begun ends with it."),
        _("Completed: “%(item)s”."),
        is_frequent=True,
    ),
    "disable": CommandWording(
        _("Disable"),
        _("Disable “%(item)s”?"),
        _("It cannot be started until it is enabled again, and nothing waits for it."),
        _("Disabled: “%(item)s”."),
    ),
    "reenable": CommandWording(
        _("Enable again"),
        _("Enable “%(item)s” again?"),
        _("It can then be started."),
        _("Enabled again: “%(item)s”."),
    ),
    "suspend_item": CommandWording(
        _("Suspend"),
        _("Suspend “%(item)s”?"),
        _("Its timers, jobs, events and tasks wait until it is resumed."),
        _("Suspended: “%(item)s”."),
    ),
    "resume_item": CommandWording(
        _("Resume"),
        _("Resume “%(item)s”?"),
        _("Timers that became due meanwhile fire at once, and events that arrived meanwhile are processed now."),
        _("Resumed: “%(item)s”."),
    ),
    "reactivate_item": CommandWording(
        _("Reactivate"),
        _("Reactivate “%(item)s”?"),
        _("It has failed; its work begins again from the start."),
        _("Reactivated: “%(item)s”."),
        is_frequent=True,
    ),
    "terminate_item": CommandWording(
        _("Terminate"),
        _("Terminate “%(item)s”?"),
        _(
            "It ends without being completed, and everything in it ends with it. What it has done outside is not "
            "undone. The instance can be returned to an earlier version."
        ),
        _("Terminated: “%(item)s”."),
        needs_confirmation=True,
    ),
}
_RETURN = re.compile(r"return to (\d+): (.*)", re.DOTALL)


def describe_cause(cause: str, names: Mapping[str, str]) -> str:
    """Return the cause of a version in words, with the name of the element instead of its id."""
    returned = _RETURN.fullmatch(cause)
    if returned:
        return gettext("returned to version %(version)s: %(reason)s") % {
            "version": returned[1],
            "reason": returned[2],
        }
    what, _space, about = cause.partition(" ")
    if what == "start" and about:
        what = "start_item"  # an item of a case; an instance as a whole is about nothing else
    if what not in CAUSES:
        return cause
    about = event_title(about) if what == "event" else names.get(about, about)
    return " ".join(filter(None, [str(CAUSES[what]), about]))


def status_badge(status: str) -> SafeString:
    known = Status(status)
    return badge(known.label, COLOURS[known])


def kind_label(kind: str) -> str:
    return str(KINDS.get(kind, kind))


def wait_label(kind: str) -> str:
    return str(WAITED_FOR.get(kind, kind))


def time_html(time: datetime) -> SafeString:
    """Show a time to the second, as versions of an instance follow each other within a minute."""
    return format_html('<span class="pst-nowrap">{}</span>', time_element(time))


def age_html(time: datetime) -> SafeString:
    """Show how long ago a time was, with the exact time as a tooltip."""
    age = timezone.now() - time
    seconds = max(0, round(age.total_seconds()))
    words = gettext("%(seconds)s s") % {"seconds": seconds} if seconds < 60 else timesince(time, depth=1)
    return time_element(time, words)


def explain_refusal(error: ApplicationError) -> str:
    """Return why a service refused a request, in words for staff."""
    if isinstance(error, VersionConflict):
        return gettext(
            "The instance has changed since you opened this page: it is now at version %(version)s. Nothing has been "
            "done. Check it again; if this is still right, send it once more."
        ) % {"version": error.data.get("version", "?")}
    if isinstance(error, TaskTaken):
        return gettext("%(name)s already has this task.") % {"name": error.data.get("assignee", "?")}
    if isinstance(error, NotPossible):
        return gettext("Not possible now: %(reason)s") % {"reason": translate_reason(str(error.data.get("reason", "")))}
    if isinstance(error, ScenariosFailed):
        named = [
            gettext("“%(name)s”") % {"name": each["scenario"]} + f": {say_failure(each['failure'])}"
            for each in error.data.get("failures", [])[:MOST_FAILURES]
        ]
        return " ".join([error.message, *named])
    return error.message


def show_name(name: str, *, is_known: bool) -> SafeString | str:
    """Return the name of a user or a group; one that nobody has is marked, for nobody gets the task by it."""
    return name if is_known else format_html("{} {}", name, badge(gettext("no such name"), "warning"))
