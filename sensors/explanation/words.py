"""The sentence of each verdict, in the reader's language."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils.translation import gettext, gettext_noop, pgettext

from notifications.presentation import say_reason
from sensors.explanation.evidence import Case, Reach
from sensors.explanation.verdict import Decision, Verdict
from sensors.ingest.signals import Code
from sensors.presentation import say_rejection_message
from sensors.services.publish import SENSOR_MUTED

SENTENCES: dict[Verdict, str] = {
    Verdict.TOLD: gettext_noop("“%(client)s” was notified at %(since)s."),
    Verdict.NOT_REGISTERED: gettext_noop("Sensor %(sensor)s was not registered until %(until)s."),
    Verdict.SENSOR_INACTIVE: gettext_noop("Sensor %(sensor)s was inactive: signals of inactive sensors are rejected."),
    Verdict.NO_SIGNAL: gettext_noop(
        "No signal was received around that time. The last one before it was received at %(since)s."
    ),
    Verdict.DEAF: gettext_noop("Postern itself could not receive signals from %(since)s to %(until)s."),
    Verdict.BEHIND: gettext_noop(
        "Signals of that time may still be in the queue: Postern has not caught up yet. Ask again in a minute."
    ),
    Verdict.HISTORY_AWAY: gettext_noop(
        "History is unavailable at the moment, so this cannot be answered. Nothing is lost; ask again a little later."
    ),
    Verdict.HISTORY_BEHIND: gettext_noop("History has not been written up to that time yet. Ask again in a minute."),
    Verdict.EXPIRED: gettext_noop("This is no longer known: the records of that time have expired."),
    Verdict.REFUSED: gettext_noop("A signal was received and rejected: %(reason)s."),
    Verdict.REPEAT: gettext_noop("The signal received was a repeat of the one from %(since)s and had no effect."),
    Verdict.UNCHANGED: gettext_noop("Nothing changed: the door was already %(state)s."),
    Verdict.LATE: gettext_noop("The signal was late: one with a later time had already been received."),
    Verdict.NOT_LINKED: gettext_noop("“%(client)s” was not linked to sensor %(sensor)s at that time."),
    Verdict.UNLINKED: gettext_noop("“%(client)s” was unlinked from the sensor before the message was sent."),
    Verdict.CLIENT_INACTIVE: gettext_noop("“%(client)s” was inactive: nothing is sent to inactive clients."),
    Verdict.MUTED: gettext_noop(
        "“%(muted)s” was muted until %(until)s: no notifications of lost connections or doors left open."
    ),
    Verdict.LOSS_UNTOLD: gettext_noop(
        "“%(client)s” had not been notified of the loss (muted, or linked later), so it was not notified of its end."
    ),
    Verdict.SUPERSEDED: gettext_noop(
        "It was superseded by a newer message before it was delivered: delivery %(number)s."
    ),
    Verdict.DEAD: gettext_noop("It could not be delivered: %(attempts)s attempts failed, the last with “%(reason)s”."),
    Verdict.GONE: gettext_noop("The receiver responded with 410 (gone), so “%(client)s” was disabled."),
    Verdict.SILENT: gettext_noop("The receiver had not responded for three days, so “%(client)s” was disabled."),
    Verdict.CLOSED: gettext_noop("The door was closed before the message was sent."),
    Verdict.CANCELLED: gettext_noop("The message was cancelled: %(reason)s."),
    Verdict.PAUSED: gettext_noop(
        "“%(client)s” has been paused since %(since)s; the message is waiting for it to be resumed."
    ),
    Verdict.BREAKER_OPEN: gettext_noop(
        "“%(client)s” has not responded since %(since)s; the next retry is at %(until)s."
    ),
    Verdict.ASKED_TO_WAIT: gettext_noop("The receiver asked Postern to wait until %(until)s."),
    Verdict.BEHIND_OLDER: gettext_noop("An older message has to be settled first: delivery %(number)s."),
    Verdict.PENDING: gettext_noop("It has not been sent yet: the next attempt is at %(until)s."),
    Verdict.UNEXPLAINED: gettext_noop(
        "None of the records explains it. Please report this with the sensor and the time."
    ),
}
WITHOUT_TIMES: dict[Verdict, str] = {
    Verdict.TOLD: gettext_noop("“%(client)s” was notified; the exact time is no longer kept."),
    Verdict.NO_SIGNAL: gettext_noop("No signal was received around that time, nor at any time before it."),
    Verdict.DEAF: gettext_noop("Postern itself has not been able to receive signals since %(since)s."),
    Verdict.MUTED: gettext_noop("“%(muted)s” was muted: no notifications of lost connections or doors left open."),
    Verdict.PAUSED: gettext_noop("“%(client)s” is paused; the message is waiting for it to be resumed."),
}
"""Where a time of the sentence is not known."""
BEFORE_SENDING = gettext_noop("Sensor %(sensor)s was deactivated before the message was sent.")
REFUSALS_EXPIRED = gettext_noop(
    "No signal was accepted around then. Whether one was rejected is no longer known: that is kept for %(days)s days."
)
UNDER_WAY = gettext_noop("An attempt is in progress right now.")
RETRIED = gettext_noop(
    "It has not been delivered yet: failed attempts: %(attempts)s, the last with “%(reason)s”. The next one is at "
    "%(until)s."
)
REFUSALS: dict[str, str] = {
    Code.UNKNOWN_SENSOR: gettext_noop("no such sensor was registered"),
    Code.BAD_DATA: gettext_noop("its value was neither 0 nor 1"),
    Code.BAD_TIME: gettext_noop("its time was wrong"),
    Code.FROM_THE_FUTURE: gettext_noop("its time was more than five minutes ahead"),
    Code.BAD_JSON: gettext_noop("it was not JSON"),
    Code.BAD_SHAPE: gettext_noop("it did not look like a signal"),
}


def write_sentence(case: Case, decision: Decision, *, sensor: str, client: str, show: Callable[[datetime], str]) -> str:
    """Return the verdict as a sentence."""
    detail: dict[str, Any] = {"sensor": sensor, "client": client, **_details(case, sensor, client)}
    detail |= {name: show(at) for name in ("since", "until") if (at := getattr(decision, name)) is not None}
    return gettext(_choose(case, decision)) % {**dict.fromkeys(("since", "until"), "–"), **detail}


def _choose(case: Case, decision: Decision) -> str:
    verdict = decision.verdict
    if verdict == Verdict.SENSOR_INACTIVE and case.sent is not None:
        return BEFORE_SENDING
    if (
        verdict == Verdict.EXPIRED
        and case.occurrence.event is None
        and case.reach == Reach.WHOLE
        and case.before is None
    ):
        return REFUSALS_EXPIRED
    lease = None if case.sent is None else case.sent.delivery.under_way_until
    if verdict == Verdict.PENDING and lease is not None and lease > case.now:
        return UNDER_WAY
    if verdict == Verdict.PENDING and case.sent is not None and case.sent.delivery.reason:
        return RETRIED
    needed = [name for name in ("since", "until") if f"%({name})s" in SENTENCES[verdict]]
    if any(getattr(decision, name) is None for name in needed):
        return WITHOUT_TIMES.get(verdict, SENTENCES[verdict])
    return SENTENCES[verdict]


def _details(case: Case, sensor: str, client: str) -> dict[str, Any]:
    found: dict[str, Any] = {"days": settings.REJECTED_DAYS}
    if case.occurrence.refusal is not None:
        code = case.occurrence.refusal.code
        found["reason"] = (
            gettext(REFUSALS[code]) if code in REFUSALS else say_rejection_message(case.occurrence.refusal.message)
        )
    if case.before is not None and case.before.value is not None:
        found["state"] = state_words(case.before.value)
    if case.sent is not None:
        delivery = case.sent.delivery
        found |= {
            "reason": say_reason(delivery.reason),
            "number": delivery.superseded_by_id or case.sent.waits_for,
            "attempts": delivery.attempts_made,
            "muted": sensor if delivery.reason == SENSOR_MUTED else client,
        }
    return found


def state_words(value: int) -> str:
    return pgettext("door", "open") if value else pgettext("door", "closed")
