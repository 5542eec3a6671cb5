"""Write what became of repeats, each under the fence of its claim: what comes late writes nothing.

Successes are deleted together by one statement, failures saved again by another; what is exhausted has its alert and
its event in the same transaction.
"""

import random
from collections.abc import Collection, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

import structlog
from django.db import connection, transaction
from django.db.models import F
from prometheus_client import Counter

from config.common.database.leases import LeaseLost, finish
from config.common.database.sql import bulk_fetch, in_number_array
from notifications.models import RepeatSession, SessionRecord, SessionStep
from notifications.sessions.claims import Claim, claim_lapsed
from notifications.sessions.lifecycle import saved_columns
from notifications.sessions.operations import Verdict
from notifications.sessions.storage import database_time_in, wake_scheduler, write_steps
from notifications.sessions.theme_health import find_changed_themes, lock_theme, record_exhausted, update_breakers

REPEATS = Counter("postern_session_repeats", "Repeats of sessions, by what became of them", ["outcome"])
MOST_VERDICTS = 100

What = SessionStep.What
log = structlog.get_logger(__name__)


class Result(Enum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    DIED = "died"
    """The worker has: that counts as failed, so that a session which kills its workers is exhausted in the end."""
    STOPPED = "stopped"
    """The process was asked to end before the handler had: it does not count."""
    UNTRIED = "untried"
    """Claimed ahead, and given back because no worker was free."""
    LAPSED = "lapsed"
    """No repeat at all: its caller left it untouched for the theme's timeout."""


@dataclass(frozen=True)
class Outcome:
    claim: Claim
    result: Result
    detail: str = ""
    verdicts: Sequence[Verdict] = field(default_factory=tuple)
    is_answer: bool | None = None
    """Whether the handler had an answer, be it a refusal; None where nobody asked it to the end."""


def record_outcomes(outcomes: Sequence[Outcome]) -> set[int]:
    """Write these outcomes; return the ids of the sessions whose claim still stood."""
    succeeded = [each.claim for each in outcomes if each.result is Result.SUCCEEDED]
    others = sorted(
        (each for each in outcomes if each.result is not Result.SUCCEEDED), key=lambda each: each.claim.row.pk
    )
    news = find_changed_themes(outcomes)
    # Together or not at all: what is written again after a failure would find itself deleted and be taken for late.
    with transaction.atomic() if news or (succeeded and others) else nullcontext():
        written = _delete(succeeded) | (_save_again(others, news) if others else set())
        if news:
            update_breakers([each for each in outcomes if each.claim.row.pk in written], news)
    for outcome in outcomes:
        is_late = outcome.claim.row.pk not in written
        REPEATS.labels("late" if is_late else outcome.result.value).inc()
        if is_late:
            log.warning("session.overtaken", session=outcome.claim.row.pk, fence=outcome.claim.fence)
    return written


def settle_lapsed_once() -> bool:
    """Save what nobody has touched in time; return whether there was any."""
    lapsed = claim_lapsed()
    outcomes = [Outcome(each, Result.DIED if each.row.is_repeating else Result.LAPSED) for each in lapsed]
    record_outcomes(outcomes)
    return bool(lapsed)


def _delete(claims: Sequence[Claim]) -> set[int]:
    held = sorted((claim.row.pk, claim.row.change) for claim in claims)
    if not held:
        return set()
    if connection.vendor == "postgresql":
        return {pk for (pk,) in bulk_fetch("notifications", "delete_sessions", held)}
    with transaction.atomic():
        return _delete_under_lock(held)


def _delete_under_lock(held: Sequence[tuple[int, int]]) -> set[int]:
    """The same as `delete_sessions.postgresql.sql`, under the write lock of SQLite."""
    rows = RepeatSession.objects.filter(pk__in=in_number_array([pk for pk, _ in held]))
    standing = set(rows.values_list("pk", "change"))
    gone = [pk for pk, change in held if (pk, change) in standing]
    with connection.cursor() as cursor:
        for model, column in ((SessionRecord, "session_id"), (SessionStep, "session_id"), (RepeatSession, "id")):
            cursor.executemany(f"DELETE FROM {model._meta.db_table} WHERE {column} = %s", [[pk] for pk in gone])
    return set(gone)


@dataclass(frozen=True)
class _Next:
    """What becomes of a session that is not over: saved for a time in its place, after a delay in the last, or due no
    more."""

    status: RepeatSession.Status
    repeats: int
    due_at: datetime | None = None
    delay: float | None = None


def _save_again(outcomes: Sequence[Outcome], news: Collection[int]) -> set[int]:
    """Write what is not over yet, in order of id, and then, theme by theme, what has reached its limit.

    The themes with news are locked too, all in one order: two that record at once never wait in a circle.
    """
    with transaction.atomic():
        nexts = [_next(each) for each in outcomes]
        written = (_save_together if connection.vendor == "postgresql" else _save_each)(outcomes, nexts)
        kept = [each for each in outcomes if each.claim.row.pk in written]
        write_steps([step for each in kept for step in _steps(each)])
        exhausted = [each for each in kept if _is_last(each)]
        for number in sorted({each.claim.theme.pk for each in exhausted}.union(news)):
            lock_theme(number)
        for each in exhausted:
            each.claim.row.repeats += 1
            record_exhausted(each.claim.row, each.detail)
        delays = [each.delay for each in nexts if each.delay is not None]
        if delays:
            wake_scheduler(seconds=min(delays))
    return written


def _next(outcome: Outcome) -> _Next:
    row, theme = outcome.claim.row, outcome.claim.theme
    if outcome.result in (Result.STOPPED, Result.UNTRIED):
        # As it was: it keeps its time and its place.
        return _Next(RepeatSession.Status.SAVED, row.repeats, due_at=outcome.claim.was_due_at)
    if outcome.result is Result.LAPSED:
        return _Next(RepeatSession.Status.SAVED, row.repeats, delay=theme.delay)
    if _is_last(outcome):
        return _Next(RepeatSession.Status.EXHAUSTED, row.repeats + 1)
    return _Next(RepeatSession.Status.SAVED, row.repeats + 1, delay=theme.delay + theme.jitter * random.random())


def _save_together(outcomes: Sequence[Outcome], nexts: Sequence[_Next]) -> set[int]:
    rows = [
        (outcome.claim.row.pk, outcome.claim.row.change, each.status.value, each.repeats, each.due_at, each.delay)
        for outcome, each in zip(outcomes, nexts, strict=True)
    ]
    return {pk for (pk,) in bulk_fetch("notifications", "save_sessions", rows)}


def _save_each(outcomes: Sequence[Outcome], nexts: Sequence[_Next]) -> set[int]:
    """The same as `save_sessions.postgresql.sql`, under the write lock of SQLite."""
    written = set()
    for outcome, each in zip(outcomes, nexts, strict=True):
        place = {"due_at": each.due_at} if each.delay is None else saved_columns(database_time_in(each.delay))
        common = {"status": each.status, "is_repeating": False, "repeats": each.repeats}
        try:
            finish(outcome.claim.row, fence="change", change=F("change") + 1, **common | place)
        except LeaseLost:
            continue
        written.add(outcome.claim.row.pk)
    return written


def _is_last(outcome: Outcome) -> bool:
    is_failure = outcome.result in (Result.FAILED, Result.DIED)
    return is_failure and outcome.claim.row.repeats + 1 >= outcome.claim.theme.repeat_limit


def _steps(outcome: Outcome) -> Iterable[SessionStep]:
    if outcome.result is Result.UNTRIED:
        return
    yield SessionStep(
        session=outcome.claim.row,
        what=What(outcome.result.value),
        detail=outcome.detail,
        verdicts=list(outcome.verdicts[:MOST_VERDICTS]),
    )
    if _is_last(outcome):
        yield SessionStep(session=outcome.claim.row, what=What.EXHAUSTED)
