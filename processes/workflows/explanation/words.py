"""The sentences of the verdicts about instances and tasks, in the reader's language."""

from collections.abc import Callable
from datetime import datetime

from django.utils.translation import gettext, gettext_noop

from config.common.actors import say_actor
from notifications.event_titles import event_title
from processes.workflows.admin.presentation import describe_cause
from processes.workflows.explanation.verdict import Decision, TaskCase, TaskDecision, TaskVerdict, Verdict
from processes.workflows.reasons import translate_reason

SENTENCES: dict[Verdict, str] = {
    Verdict.ENDED: gettext_noop("It has ended (%(name)s), at %(since)s."),
    Verdict.INCIDENT: gettext_noop("It failed at “%(name)s” at %(since)s and is waiting for a retry: %(reason)s"),
    Verdict.SUSPENDED: gettext_noop("It was suspended at %(since)s and is waiting to be resumed."),
    Verdict.PERSON: gettext_noop("It is waiting for a person: task “%(name)s” has been open since %(since)s."),
    Verdict.WORKER: gettext_noop("No worker has fetched its task of topic “%(name)s” since %(since)s."),
    Verdict.WORKING: gettext_noop("Worker “%(name)s” has its task until %(until)s."),
    Verdict.RETRY: gettext_noop("“%(name)s” has failed and is tried again at %(until)s."),
    Verdict.DUE: gettext_noop("“%(name)s” has been due since %(until)s; Postern has not processed it yet."),
    Verdict.EVENT: gettext_noop("It is waiting for the event “%(name)s”."),
    Verdict.TIMER: gettext_noop("It is waiting for the timer “%(name)s”, which fires at %(until)s."),
    Verdict.START: gettext_noop("It is waiting for a person to start “%(name)s”."),
    Verdict.UNEXPLAINED: gettext_noop("None of the records explains it. Please report this with the instance."),
}
TASK_SENTENCES: dict[TaskVerdict, str] = {
    TaskVerdict.OPEN: gettext_noop("It is open, since %(since)s."),
    TaskVerdict.DONE: gettext_noop("It is done: version %(version)s, at %(since)s, by %(actor)s."),
    TaskVerdict.CANCELLED: gettext_noop("Version %(version)s cancelled it, at %(since)s: %(cause)s."),
    TaskVerdict.ABANDONED: gettext_noop(
        "A return to an earlier version abandoned it: version %(version)s, at %(since)s."
    ),
    TaskVerdict.INCIDENT: gettext_noop("It failed at %(since)s and is waiting for a retry: %(reason)s"),
    TaskVerdict.SUSPENDED: gettext_noop("It is open, but suspended: it can be completed once it is resumed."),
    TaskVerdict.ENDED: gettext_noop("The instance ended at %(since)s without reaching it."),
    TaskVerdict.UNKNOWN: gettext_noop("The definition of this instance has no such element."),
    TaskVerdict.NOT_REACHED: gettext_noop("The instance has not reached it yet. %(standstill)s"),
}


# Whose the task is, or who may claim it, is said where that is known; the verdict stays the same.
ASSIGNED = gettext_noop("It is waiting for %(assignee)s: task “%(name)s” has been open since %(since)s.")
OFFERED = gettext_noop("Task “%(name)s” has been open since %(since)s and nobody has claimed it; may: %(candidates)s.")
TASK_ASSIGNED = gettext_noop("It is open, since %(since)s: %(assignee)s has it and has not completed it.")
TASK_OFFERED = gettext_noop("It is open, since %(since)s: nobody has claimed it; may: %(candidates)s.")


def write_sentence(decision: Decision, *, reason: str, show: Callable[[datetime], str]) -> str:
    """Return the verdict about an instance as a sentence."""
    times = {name: getattr(decision, name) for name in ("since", "until")}
    detail = {name: "–" if at is None else show(at) for name, at in times.items()}
    name = event_title(decision.name) if decision.verdict is Verdict.EVENT else decision.name
    detail |= {"name": name or "–", "assignee": decision.assignee, "candidates": decision.candidates}
    template = SENTENCES[decision.verdict]
    if decision.verdict is Verdict.PERSON:
        template = ASSIGNED if decision.assignee else OFFERED if decision.candidates else template
    return gettext(template) % {**detail, "reason": reason}


def write_task_sentence(
    case: TaskCase, decision: TaskDecision, *, standstill: str, show: Callable[[datetime], str]
) -> str:
    """Return the verdict about a task as a sentence; `standstill` says what its instance waits for."""
    version = case.closed_by
    detail = {
        "since": "–" if decision.since is None else show(decision.since),
        "version": "–" if version is None else version.number,
        "actor": say_actor(version.actor if version is not None else ""),
        "cause": "–" if version is None else describe_cause(version.cause, {}),
        "reason": translate_reason(case.incident.reason) if case.incident is not None else "",
        "standstill": standstill,
        "assignee": case.item.assignee if case.item is not None else "",
        "candidates": ", ".join(case.candidates),
    }
    template = TASK_SENTENCES[decision.verdict]
    if decision.verdict is TaskVerdict.OPEN:
        template = TASK_ASSIGNED if detail["assignee"] else TASK_OFFERED if case.candidates else template
    return gettext(template) % detail
