"""The sentence of each verdict about a change set, in the reader's language."""

from collections.abc import Callable
from datetime import datetime

from django.utils.translation import gettext, gettext_noop

from processes.coordination.explanation.verdict import Case, Decision, Verdict
from processes.coordination.protocol.reasons import format_reason

SENTENCES: dict[Verdict, str] = {
    Verdict.HAS_IT: gettext_noop("Reader “%(reader)s” has it, since %(since)s."),
    Verdict.CANCELLED: gettext_noop("It was cancelled, so no reader gets it: %(reason)s"),
    Verdict.COMPENSATION_FAILED: gettext_noop(
        "It was cancelled but could not be undone; it is waiting for a decision: %(reason)s"
    ),
    Verdict.ROLE_SILENT: gettext_noop("It is waiting for “%(name)s”, whose last heartbeat was at %(since)s."),
    Verdict.ON_THE_WAY: gettext_noop("It has not reached the Coordinator yet."),
    Verdict.REFUSED: gettext_noop("Reader “%(name)s” refused it: %(reason)s"),
    Verdict.REFUSED_ELSEWHERE: gettext_noop("Reader “%(name)s” refused it, so no reader gets it: %(reason)s"),
    Verdict.LATE: gettext_noop("It missed its deadline and is waiting: %(reason)s"),
    Verdict.BEHIND: gettext_noop("It touches a row of change set %(behind)s, which must end first."),
    Verdict.IN_LINE: gettext_noop("Change set %(behind)s is ahead of it in the queue."),
    Verdict.READER_WORKING: gettext_noop("Reader “%(name)s” is preparing it and has not responded yet."),
    Verdict.WAITS_FOR_READER: gettext_noop(
        "Reader “%(reader)s” has done its part; reader “%(name)s” has not responded yet."
    ),
    Verdict.COMMITTING: gettext_noop("All readers agree; it is being committed."),
}


def write_sentence(case: Case, decision: Decision, show: Callable[[datetime], str]) -> str:
    """Return the verdict as a sentence."""
    detail = {
        "reader": case.reader.name,
        "name": decision.name,
        "since": "–" if decision.since is None else show(decision.since),
        "behind": "–" if case.behind is None else case.behind,
        "reason": format_reason(decision.reason) or "–",
    }
    return gettext(SENTENCES[decision.verdict]) % detail
