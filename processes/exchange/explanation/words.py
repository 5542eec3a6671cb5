"""The sentence of each verdict about a message, in the reader's language."""

from collections.abc import Callable
from datetime import datetime

from django.utils.translation import gettext, gettext_noop

from processes.exchange.explanation.verdict import Case, Decision, Verdict
from processes.exchange.transitions import overlap

SENTENCES: dict[Verdict, str] = {
    Verdict.PROCESSED: gettext_noop("“%(database)s” processed it at %(since)s."),
    Verdict.FETCHED: gettext_noop("Device “%(device)s” fetched it and confirmed it at %(since)s."),
    Verdict.INCORRECT: gettext_noop("“%(database)s” received it and found it incorrect: %(error)s"),
    Verdict.UNREADABLE: gettext_noop("Its file cannot be read, so it is not offered: %(error)s"),
    Verdict.FILE_MISSING: gettext_noop("Its file has been missing since %(since)s."),
    Verdict.IN_DOUBT: gettext_noop(
        "“%(database)s” did not confirm in time whether it has committed: in doubt since %(since)s."
    ),
    Verdict.HANDED_OUT: gettext_noop("“%(database)s” received it at %(since)s and has until %(until)s to respond."),
    Verdict.PREPARED: gettext_noop("“%(database)s” has processed it but not committed yet; it has until %(until)s."),
    Verdict.MOVING: gettext_noop("Its file is being moved to its folder."),
    Verdict.MOVE_FAILED: gettext_noop(
        "Its file could not be moved: the process has failed and is waiting for an operator."
    ),
    Verdict.SET_ASIDE: gettext_noop("It was set aside at %(since)s and is not offered until a person restores it."),
    Verdict.DATABASE_INACTIVE: gettext_noop("“%(database)s” is inactive: its calls are refused."),
    Verdict.DEVICE_INACTIVE: gettext_noop("Device “%(device)s” is inactive: its calls are refused."),
    Verdict.LANE_FAILED: gettext_noop(
        "A process of its lane has failed and is waiting for an operator; until then nothing else is handed out."
    ),
    Verdict.LANE_BUSY: gettext_noop(
        "“%(database)s” is busy with another process of its lane, which has until %(until)s."
    ),
    Verdict.LEFT_OUT: gettext_noop("“%(database)s” was offered it at %(since)s and left it out. It is offered again."),
    Verdict.DEADLOCK: gettext_noop("“%(database)s” reported a deadlock. It is offered again."),
    Verdict.TIMED_OUT: gettext_noop(
        "“%(database)s” received it and had not responded by %(since)s. It is offered again."
    ),
    Verdict.INTERRUPTED: gettext_noop("The process that had it was interrupted at %(since)s. It is offered again."),
    Verdict.ROLLED_BACK: gettext_noop("“%(database)s” rolled it back at %(since)s (%(error)s). It is offered again."),
    Verdict.NOT_ASKED: gettext_noop(
        "“%(database)s” has not started an exchange that could include it since it was accepted at %(since)s. %(asked)s"
    ),
    Verdict.QUEUED: gettext_noop("Other messages are ahead of it; it has been waiting its turn since %(since)s."),
    Verdict.NOT_FETCHED: gettext_noop(
        "Device “%(device)s” has not fetched and confirmed it yet; it has been waiting since %(since)s."
    ),
    Verdict.UNEXPLAINED: gettext_noop("None of the records explains it. Please report this with the message."),
}


def write_sentence(case: Case, decision: Decision, show: Callable[[datetime], str]) -> str:
    """Return the verdict as a sentence."""
    message = case.message
    times = {name: getattr(decision, name) for name in ("since", "until")}
    detail = {
        "database": message.database.name,
        "device": message.device.name,
        "error": message.error_text or "–",
        **{name: "–" if at is None else show(at) for name, at in times.items()},
    }
    return gettext(SENTENCES[decision.verdict]) % {**detail, "asked": say_request(case, show)}


def say_request(case: Case, show: Callable[[datetime], str]) -> str:
    """Return when the database last asked for messages and what it was answered, as a sentence."""
    last = case.last_request
    if last is None:
        return gettext("No request for messages is on record.")
    words = gettext("It last asked for messages at %(time)s; the answer: %(answer)s.")
    if not overlap([case.message.subsystem_id], last.lane):
        words = gettext("It last asked at %(time)s, but for messages of other subsystems; the answer: %(answer)s.")
    return words % {"time": show(last.asked_at), "answer": last.get_answer_display()}
