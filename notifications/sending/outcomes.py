"""Record the outcomes of attempts in one transaction: attempt, delivery, breaker of the endpoint, event.

Endpoints are locked before deliveries, and both in order of id, as everybody locks them. A claim that was overtaken
writes its attempt alone: the fence decides.
"""

import random
from collections import Counter as Tally
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone
from django.utils.translation import gettext_noop
from prometheus_client import Counter

from config.common.correlation import correlated, correlation_id
from config.common.database.batches import DatabaseUnavailable, write_or_bisect, write_with_retries
from config.common.database.sql import bulk_execute, bulk_fetch, in_number_array
from config.common.text import clean_error
from notifications.models import Delivery, Endpoint, ListedSubject
from notifications.sending.claims import Claim
from notifications.sending.policy import (
    BREAKER_FAILURES,
    GIVE_UP_AFTER,
    GONE,
    RECEIVER_GONE,
    SILENT_FOR_DAYS,
    Verdict,
    is_success,
    judge_answer,
    next_probe,
    pause_seconds,
    retry_delay,
)
from notifications.sending.webhook import Answer
from notifications.services.alert_messages import find_deliveries_of_unnotified_alerts
from notifications.services.alerts import raise_alert
from notifications.services.endpoints import (
    disable_endpoint,
    mark_reachable,
    name_receiver,
    raise_unreachable_alert,
)
from notifications.services.events import NewEvent, record_events
from notifications.subjects import delivery_subject, endpoint_subject

ATTEMPTS = Counter("postern_delivery_attempts", "Attempts to deliver, by what became of the delivery", ["outcome"])

ATTEMPTED = "delivery.attempted"
LATE = "late"
LONGEST_DURATION = 2**31 - 1
DEAD = gettext_noop("Messages to %(receiver)s could not be delivered")


log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Outcome:
    claim: Claim
    at: datetime
    answer: Answer

    @property
    def ok(self) -> bool:
        return is_success(self.answer.status)


def drain_outcomes(outcomes: list[Outcome]) -> None:
    """Record these outcomes and take them out of the list as they are written; one that fails is recorded alone.

    Raise `DatabaseGone` if what is left in the list must be recorded later.
    """
    for part, _ in write_or_bisect(tuple(outcomes), _write, _record_without_answer):
        del outcomes[: len(part)]


def _write(outcomes: Sequence[Outcome], is_last: bool) -> None:
    write_with_retries(lambda: record_outcomes(outcomes))


def _record_without_answer(outcome: Outcome, error: Exception, is_last: bool) -> None:
    """Record an attempt whose answer cannot be written: without an outcome it would be made again for ever."""
    log.error("outcome.not_written", delivery=outcome.claim.id, error=clean_error(error, 300))
    words = clean_error(error, 200)
    status, took = outcome.answer.status, max(0, min(outcome.answer.duration_ms, LONGEST_DURATION))
    answer = Answer(status, took, "", f"the answer could not be recorded ({words})", outcome.answer.retry_after)
    plain = Outcome(outcome.claim, outcome.at, answer)
    try:
        _write([plain], is_last)
    except DatabaseUnavailable:
        raise
    except Exception:
        log.exception("outcome.bare", delivery=outcome.claim.id)
        _record_delivery_alone(plain)


def _record_delivery_alone(outcome: Outcome) -> None:
    """Write the least there must be; if even that fails, leave the row to its lease and go on with the others."""
    try:
        write_with_retries(lambda: _finish_delivery_alone(outcome))
    except DatabaseUnavailable:
        raise
    except Exception:
        log.exception("outcome.left_to_its_lease", delivery=outcome.claim.id)


def _finish_delivery_alone(outcome: Outcome) -> None:
    """Write the row of the delivery without its attempt, alert and event."""
    with transaction.atomic():
        written = _finish([outcome], {outcome.claim.id: _judge(outcome)})
        _close_lists([outcome], written)
    ATTEMPTS.labels(written.get(outcome.claim.id, LATE)).inc()


def record_outcomes(outcomes: Sequence[Outcome]) -> None:
    """Record the outcomes of a few attempts, in the order in which they ended."""
    by_endpoint = defaultdict[int, list[Outcome]](list)
    for outcome in outcomes:
        by_endpoint[outcome.claim.endpoint_id].append(outcome)
    verdicts = {outcome.claim.id: _judge(outcome) for outcome in outcomes}
    with transaction.atomic():
        endpoints = _lock_endpoints(by_endpoint)
        bulk_execute("notifications", "insert_attempts", [_attempt_row(outcome) for outcome in outcomes])
        _keep_only_notices(outcomes, verdicts)
        written = _finish(outcomes, verdicts)
        _close_lists(outcomes, written)
        for endpoint in endpoints:
            _update_endpoint(endpoint, by_endpoint[endpoint.pk])
        _alert_dead(outcomes, written)
        record_events(_build_event(outcome, written.get(outcome.claim.id, LATE)) for outcome in outcomes)
    for became, count in Tally(written.get(outcome.claim.id, LATE) for outcome in outcomes).items():
        ATTEMPTS.labels(became).inc(count)


def _judge(outcome: Outcome) -> Verdict:
    claim, answer = outcome.claim, outcome.answer
    return judge_answer(
        answer.status,
        answer.error,
        answer.retry_after,
        attempts=claim.attempts,
        limit=1 if claim.family == Delivery.Family.PING else settings.DELIVERY_ATTEMPTS,
        base=settings.DELIVERY_BASE_SECONDS,
        is_probe=claim.is_probe,
        may_be_gone=claim.is_webhook,
        chance=random.random(),
    )


def _keep_only_notices(outcomes: Sequence[Outcome], verdicts: dict[int, Verdict]) -> None:
    """Keep a message about an open alert pending, however often it failed, while no message has reached anybody."""
    dead = {
        each.claim.id: each.claim
        for each in outcomes
        if each.claim.family == Delivery.Family.ALERT and verdicts[each.claim.id].status == Delivery.Status.DEAD
    }
    for pk in find_deliveries_of_unnotified_alerts(dead) if dead else ():
        delay = retry_delay(dead[pk].attempts, settings.DELIVERY_BASE_SECONDS, random.random())
        verdicts[pk] = Verdict(Delivery.Status.PENDING, verdicts[pk].reason, delay)


def _lock_endpoints(by_endpoint: Mapping[int, Iterable[Outcome]]) -> list[Endpoint]:
    """Lock the endpoints whose row changes: those that fail or failed. While all goes well none is locked."""
    pks = [pk for pk, group in by_endpoint.items() if any(not each.ok or each.claim.was_failing for each in group)]
    if not pks:
        return []
    return list(Endpoint.objects.select_for_update(no_key=True).filter(pk__in=in_number_array(pks)).order_by("pk"))


def _attempt_row(outcome: Outcome) -> tuple[int, datetime, str, int | None, int, str, str]:
    answer = outcome.answer
    took, text = answer.duration_ms, answer.body
    return (outcome.claim.id, outcome.at, outcome.claim.url, answer.status, took, answer.error, text)


def _finish(outcomes: Sequence[Outcome], verdicts: dict[int, Verdict]) -> dict[int, str]:
    """Write the verdicts on the rows whose claim still stands; return their new status by id."""
    rows = [
        (each.claim.id, each.claim.fence, verdict.status.value, verdict.reason[:300], verdict.delay)
        for each in outcomes
        for verdict in [verdicts[each.claim.id]]
    ]
    if connection.vendor == "postgresql":
        # Sorted, so that rows are locked in order of id.
        return dict(bulk_fetch("notifications", "finish_deliveries", sorted(rows)))
    return {pk: status for row in rows for pk, status in _finish_one(*row)}


def _finish_one(pk: int, fence: int, status: str, reason: str, delay: float) -> list[tuple[int, str]]:
    """Do what `finish_deliveries.postgresql.sql` does, for one row under the write lock of SQLite."""
    row = Delivery.objects.filter(pk=pk, fence=fence, status=Delivery.Status.PENDING).first()
    if row is None:
        return []
    if status == Delivery.Status.DELIVERED:
        # It has arrived, whatever newer one was to supersede it.
        row.status, row.reason, row.superseded_by = status, "", None
    elif row.superseded_by_id is not None:
        row.status = Delivery.Status.SUPERSEDED
    else:
        row.status, row.reason = status, reason
    is_pending = row.status == Delivery.Status.PENDING
    row.due_at = timezone.now() + timedelta(seconds=delay) if is_pending else None
    row.under_way_until = None
    row.save(update_fields=["status", "reason", "superseded_by", "due_at", "under_way_until"])
    return [(pk, row.status)]


def _close_lists(outcomes: Sequence[Outcome], written: dict[int, str]) -> None:
    lists = {each.claim.id for each in outcomes if each.claim.family == Delivery.Family.LIST}
    ended = [pk for pk in lists if written.get(pk, Delivery.Status.PENDING) != Delivery.Status.PENDING]
    if ended:
        ListedSubject.objects.filter(delivery__in=in_number_array(ended), is_open=True).update(is_open=False)


def _update_endpoint(endpoint: Endpoint, group: Sequence[Outcome]) -> None:
    """Count, open and close the breaker; disable an endpoint that is gone, mark one that answers again."""
    was_failing = endpoint.failures > 0 or endpoint.opened_at is not None
    is_webhook = endpoint.url.startswith("http")
    now = timezone.now()
    for outcome in group:
        if outcome.ok:
            endpoint.failures, endpoint.opened_at, endpoint.probe_at, endpoint.not_before = 0, None, None, None
        else:
            _count_failure(endpoint, outcome, now)
    endpoint.save(update_fields=["failures", "opened_at", "probe_at", "not_before"])
    if any(outcome.answer.status == GONE and outcome.claim.is_webhook for outcome in group):
        disable_endpoint(endpoint, RECEIVER_GONE)
    # Mailboxes and telephones of operators are never given up.
    elif is_webhook and endpoint.opened_at is not None and now - endpoint.opened_at >= GIVE_UP_AFTER:
        disable_endpoint(endpoint, SILENT_FOR_DAYS)
    elif endpoint.opened_at is not None:
        raise_unreachable_alert(endpoint)
    elif was_failing and any(outcome.ok for outcome in group):
        mark_reachable(endpoint)


def _count_failure(endpoint: Endpoint, outcome: Outcome, now: datetime) -> None:
    endpoint.failures += 1
    pause = pause_seconds(outcome.answer.status, outcome.answer.retry_after)
    if pause:
        endpoint.not_before = max(endpoint.not_before or now, now + timedelta(seconds=pause))
    if endpoint.opened_at is None:
        if endpoint.failures >= BREAKER_FAILURES:
            endpoint.opened_at, endpoint.probe_at = now, next_probe(now, now)
    elif outcome.claim.is_probe:
        endpoint.probe_at = next_probe(endpoint.opened_at, now)


def _alert_dead(outcomes: Sequence[Outcome], written: dict[int, str]) -> None:
    """Raise one alert for each endpoint, under the correlation id of a delivery that was given up."""
    dead = {
        each.claim.endpoint_id: each.claim
        for each in outcomes
        if written.get(each.claim.id) == Delivery.Status.DEAD and each.claim.family != Delivery.Family.PING
    }
    for endpoint_id, claim in sorted(dead.items()):
        with correlated(claim.correlation_id or correlation_id()):
            detail = {"receiver": name_receiver(endpoint_id, claim.url), "url": claim.url}
            raise_alert("deliveries.dead", endpoint_subject(endpoint_id), DEAD, detail)


def _build_event(outcome: Outcome, became: str) -> NewEvent:
    claim, answer = outcome.claim, outcome.answer
    payload = {
        "endpoint": claim.endpoint_id,
        "about": claim.subject,
        "type": claim.type,
        "attempt": claim.number,
        "url": claim.url,
        "status": answer.status,
        "duration_ms": answer.duration_ms,
        "error": answer.error,
        "became": became,
    }
    return NewEvent(ATTEMPTED, delivery_subject(claim.id), outcome.at, payload, claim.correlation_id)
