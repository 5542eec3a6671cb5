"""Decide why a client was not told about a sensor: evidence in, one verdict out. No database, no clock.

The way of a signal is followed from its arrival to the client, and the first place where it ended is the verdict.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from config.common.earlier_texts import TODAY
from notifications.models import Delivery
from notifications.sending.policy import RECEIVER_GONE, SILENT_FOR_DAYS, is_success
from sensors.explanation.evidence import Case, Reach, Receiver, Sent
from sensors.ingest.signals import Code
from sensors.services.cancellation import SENSOR_INACTIVE, UNLINKED
from sensors.services.open_doors import CLOSED
from sensors.services.publish import CLIENT_INACTIVE, CLIENT_MUTED, LOSS_WITHHELD, SENSOR_MUTED


class Verdict(StrEnum):
    """Stable words for machines; `words.py` has a sentence for each."""

    TOLD = "told"
    NOT_REGISTERED = "not_registered"
    SENSOR_INACTIVE = "sensor_inactive"
    NO_SIGNAL = "no_signal"
    DEAF = "our_side_deaf"
    BEHIND = "our_side_behind"
    HISTORY_AWAY = "history_away"
    HISTORY_BEHIND = "history_behind"
    EXPIRED = "evidence_expired"
    REFUSED = "refused"
    REPEAT = "repeat"
    UNCHANGED = "unchanged"
    LATE = "late"
    NOT_LINKED = "not_linked"
    UNLINKED = "unlinked"
    CLIENT_INACTIVE = "client_inactive"
    MUTED = "muted"
    LOSS_UNTOLD = "loss_untold"
    SUPERSEDED = "superseded"
    DEAD = "dead"
    GONE = "receiver_gone"
    SILENT = "receiver_silent"
    CLOSED = "closed_since"
    CANCELLED = "cancelled"
    PAUSED = "paused"
    BREAKER_OPEN = "breaker_open"
    ASKED_TO_WAIT = "asked_to_wait"
    BEHIND_OLDER = "behind_older"
    PENDING = "pending"
    UNEXPLAINED = "unexplained"


@dataclass(frozen=True)
class Decision:
    verdict: Verdict
    since: datetime | None = None
    until: datetime | None = None


_CANCELLED = {
    UNLINKED: Verdict.UNLINKED,
    SENSOR_INACTIVE: Verdict.SENSOR_INACTIVE,
    CLIENT_INACTIVE: Verdict.CLIENT_INACTIVE,
    LOSS_WITHHELD: Verdict.LOSS_UNTOLD,
    CLOSED: Verdict.CLOSED,
    RECEIVER_GONE: Verdict.GONE,
    SILENT_FOR_DAYS: Verdict.SILENT,
}


def decide(case: Case) -> Decision:
    """Return the one verdict of a case."""
    occurrence = case.occurrence
    if occurrence.event is not None:
        return _judge_event(case)
    if occurrence.signal is not None:
        return _judge_signal(case)
    if occurrence.refusal is not None:
        return _judge_refusal(case)
    if occurrence.repeat is not None:
        return Decision(Verdict.REPEAT, since=occurrence.repeat.signal_at)
    return _judge_silence(case)


def _judge_silence(case: Case) -> Decision:
    """Nothing is known of that time: say why, as far as that is known."""
    if not case.sensor.is_registered:
        return Decision(Verdict.NOT_REGISTERED, until=case.sensor.changed_at)
    if case.sensor.is_active is False:
        return Decision(Verdict.SENSOR_INACTIVE, since=case.sensor.changed_at)
    if case.outage is not None:
        return Decision(Verdict.DEAF, since=case.outage.from_at, until=case.outage.to_at)
    if not case.is_applied:
        return Decision(Verdict.BEHIND)
    if case.reach == Reach.AWAY:
        return Decision(Verdict.HISTORY_AWAY)
    if case.reach == Reach.BEHIND:
        return Decision(Verdict.HISTORY_BEHIND)
    # Whether something was refused then, nobody knows any more: that no signal came would be a guess.
    if case.reach == Reach.EXPIRED or not case.are_refusals_kept:
        return Decision(Verdict.EXPIRED)
    return Decision(Verdict.NO_SIGNAL, since=case.seen_at)


def _judge_refusal(case: Case) -> Decision:
    refusal = case.occurrence.refusal
    assert refusal is not None
    if refusal.code == Code.INACTIVE_SENSOR:
        return Decision(Verdict.SENSOR_INACTIVE, since=case.sensor.changed_at)
    return Decision(Verdict.REFUSED)


def _judge_signal(case: Case) -> Decision:
    """A signal without an event did not become the greatest with another value.

    One whose value is that of the greatest before it changed nothing, whenever it came. Any other would have changed
    the state, had none with a later time come before it.
    """
    signal, before = case.occurrence.signal, case.before
    assert signal is not None
    assert before is not None
    if not before.is_known:
        return Decision(Verdict.HISTORY_AWAY if case.reach == Reach.AWAY else Verdict.EXPIRED)
    if before.value == signal.data:
        return Decision(Verdict.UNCHANGED)
    return Decision(Verdict.LATE)


def _judge_event(case: Case) -> Decision:
    if case.sent is not None:
        return judge_delivery(case, case.sent)
    if case.told_at is not None:
        return Decision(Verdict.TOLD, since=case.told_at)
    if case.link.is_linked is False:
        return Decision(Verdict.NOT_LINKED, since=case.link.changed_at)
    if case.link.is_linked is None or not case.are_deliveries_kept:
        return Decision(Verdict.EXPIRED)
    return Decision(Verdict.UNEXPLAINED)


def judge_delivery(case: Case, sent: Sent) -> Decision:
    """Return what became of a delivery, or what it waits for."""
    delivery = sent.delivery
    match delivery.status:
        case Delivery.Status.DELIVERED:
            successes = (attempt.at for attempt in sent.attempts if is_success(attempt.status))
            return Decision(Verdict.TOLD, since=next(successes, None))
        case Delivery.Status.SUPERSEDED:
            return Decision(Verdict.SUPERSEDED)
        case Delivery.Status.DEAD:
            return Decision(Verdict.DEAD, since=sent.attempts[0].at if sent.attempts else None)
        case Delivery.Status.CANCELLED:
            # What an earlier version has written counts as what it would write today.
            reason = TODAY.get(delivery.reason, delivery.reason)
            if reason in (SENSOR_MUTED, CLIENT_MUTED):
                return Decision(Verdict.MUTED, until=case.muted_until)
            return Decision(_CANCELLED.get(reason, Verdict.CANCELLED))
    return _judge_pending(sent, case.receiver, now=case.now)


def _judge_pending(sent: Sent, receiver: Receiver, *, now: datetime) -> Decision:
    """Return what a delivery that is still to be sent waits for, and until when."""
    delivery = sent.delivery
    if not receiver.is_active:
        return Decision(Verdict.CLIENT_INACTIVE)
    if delivery.under_way_until is not None and delivery.under_way_until > now:
        return Decision(Verdict.PENDING, until=delivery.under_way_until)
    if receiver.is_paused:
        return Decision(Verdict.PAUSED, since=receiver.paused_at)
    if receiver.opened_at is not None and not delivery.is_forced:
        return Decision(Verdict.BREAKER_OPEN, since=receiver.opened_at, until=receiver.probe_at)
    if receiver.not_before is not None and receiver.not_before > now:
        return Decision(Verdict.ASKED_TO_WAIT, until=receiver.not_before)
    if sent.waits_for is not None:
        return Decision(Verdict.BEHIND_OLDER)
    return Decision(Verdict.PENDING, until=delivery.due_at)
