"""The rules of deliveries, as pure functions: what an answer means, and when the next attempt is."""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import gettext_noop

from notifications.models import Delivery

BREAKER_FAILURES = 5
"""The failures in a row that open the breaker of an endpoint."""
SHORTEST_PROBE, LONGEST_PROBE = timedelta(seconds=30), timedelta(minutes=15)
SLOW_DOWN_SECONDS = 30.0
"""The pause of an endpoint that answered 429 or 503 without `Retry-After`."""
GIVE_UP_AFTER = timedelta(hours=72)
JITTER = 0.2

GONE = 410
RECEIVER_GONE = gettext_noop("410: the receiver is gone")
SILENT_FOR_DAYS = gettext_noop("no response for three days")
SLOW_DOWN = {429, 503}


@dataclass(frozen=True)
class Verdict:
    status: Delivery.Status
    reason: str = ""
    delay: float = 0.0
    """Seconds until the next attempt of one that stays pending."""


def judge_answer(
    status: int | None,
    error: str,
    retry_after: float | None,
    *,
    attempts: int,
    limit: int,
    base: float,
    is_probe: bool,
    may_be_gone: bool = True,
    chance: float,
) -> Verdict:
    """Return what becomes of a delivery after its n-th attempt; `chance` is between 0 and 1."""
    if is_success(status):
        return Verdict(Delivery.Status.DELIVERED)
    reason = error or f"answered {status}"
    if status == GONE and may_be_gone:
        return Verdict(Delivery.Status.CANCELLED, RECEIVER_GONE)
    if is_probe:
        return Verdict(Delivery.Status.PENDING, reason)
    if attempts >= limit:
        return Verdict(Delivery.Status.DEAD, reason)
    return Verdict(Delivery.Status.PENDING, reason, max(retry_delay(attempts, base, chance), retry_after or 0.0))


def is_success(status: int | None) -> bool:
    return status is not None and 200 <= status < 300


def retry_delay(attempts: int, base: float, chance: float) -> float:
    """Return the seconds until the next attempt: they grow with the logarithm of the attempts, ± `JITTER`."""
    return base * (1 + math.log(attempts)) * (1 - JITTER + 2 * JITTER * chance)


def next_probe(opened_at: datetime, now: datetime) -> datetime:
    """Return when to probe an open breaker: after half of the time that it has been open, ever more rarely."""
    return now + min(max((now - opened_at) / 2, SHORTEST_PROBE), LONGEST_PROBE)


def pause_seconds(status: int | None, retry_after: float | None) -> float:
    """Return for how many seconds nothing is sent to the whole endpoint."""
    return (retry_after if retry_after is not None else SLOW_DOWN_SECONDS) if status in SLOW_DOWN else 0.0
