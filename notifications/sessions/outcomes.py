"""Record the outcomes of repeats, each under the fence of its claim: a late one writes nothing.

Successes are deleted together by one statement, failures saved again by another; an exhausted session has its alert and
its event in the same transaction.
"""

import random
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum

import structlog
from django.db import connection, transaction
from django.db.models import F
from prometheus_client import Counter

from config.common.database.batches import DatabaseUnavailable, write_or_bisect, write_with_retries
from config.common.database.leases import LeaseLost, finish
from config.common.database.sql import bulk_fetch, in_number_array
from config.common.text import clean_error
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
    """Its worker died. That counts as failed, so that a session which kills its workers is exhausted in the end."""
    STOPPED = "stopped"
    """The process was stopped before the handler ended: it does not count."""
    UNTRIED = "untried"
    """Claimed ahead, and given back because no worker was free in time."""
    LAPSED = "lapsed"
    """No repeat at all: the caller left the session untouched for the theme's timeout."""


@dataclass(frozen=True)
class Outcome:
    claim: Claim
    result: Result
    detail: str = ""
    verdicts: Sequence[Verdict] = field(default_factory=tuple)
    is_answer: bool | None = None
    """Whether the handler got an answer, be it a refusal; None if the repeat did not come that far."""


def record_outcomes(outcomes: Sequence[Outcome]) -> set[int]:
    """Record these outcomes; return the ids of the sessions whose claim still stood."""
    succeeded = [each.claim for each in outcomes if each.result is Result.SUCCEEDED]
    others = sorted(
        (each for each in outcomes if each.result is not Result.SUCCEEDED), key=lambda each: each.claim.row.pk
    )
    changed_themes = find_changed_themes(outcomes)
    # All or nothing: if it is tried again after a failure, a session that was deleted already would count as late.
    with transaction.atomic() if changed_themes or (succeeded and others) else nullcontext():
        written = _delete(succeeded) | (_save_again(others, changed_themes) if others else set())
        if changed_themes:
            update_breakers([each for each in outcomes if each.claim.row.pk in written], changed_themes)
    for outcome in outcomes:
        is_late = outcome.claim.row.pk not in written
        REPEATS.labels("late" if is_late else outcome.result.value).inc()
        if is_late:
            log.warning("session.overtaken", session=outcome.claim.row.pk, fence=outcome.claim.fence)
    return written


def record_or_bisect(outcomes: Sequence[Outcome]) -> Iterator[tuple[Sequence[Outcome], set[int]]]:
    """Record outcomes; one that cannot be written holds up no other. Yield each part with the ids that still stood."""
    return write_or_bisect(outcomes, _record_with_retries, _record_without_detail)


def _record_with_retries(outcomes: Sequence[Outcome], is_last: bool) -> set[int]:
    return write_with_retries(lambda: record_outcomes(outcomes))


def _record_without_detail(outcome: Outcome, error: Exception, is_last: bool) -> set[int]:
    """Record an outcome without its detail; if even that fails leave it to its lease, whose end counts as a failure."""
    log.error("session.not_written", session=outcome.claim.row.pk, error=clean_error(error, 300))
    detail = f"the outcome could not be recorded ({clean_error(error, 200)})"
    try:
        return _record_with_retries([Outcome(outcome.claim, outcome.result, detail)], is_last)
    except DatabaseUnavailable:
        raise
    except Exception:
        log.exception("session.left_to_its_lease", session=outcome.claim.row.pk)
        return set()


def settle_lapsed_once() -> bool:
    """Save sessions that nobody touched in time; return whether there were any."""
    lapsed = claim_lapsed()
    outcomes = [Outcome(each, Result.DIED if each.row.is_repeating else Result.LAPSED) for each in lapsed]
    record_outcomes(outcomes)
    return bool(lapsed)


def _delete(claims: Sequence[Claim]) -> set[int]:
    fenced = sorted((claim.row.pk, claim.row.change) for claim in claims)
    if not fenced:
        return set()
    if connection.vendor == "postgresql":
        return {pk for (pk,) in bulk_fetch("notifications", "delete_sessions", fenced)}
    with transaction.atomic():
        return _delete_on_sqlite(fenced)


def _delete_on_sqlite(fenced: Sequence[tuple[int, int]]) -> set[int]:
    """Do what `delete_sessions.postgresql.sql` does, under the write lock of SQLite."""
    rows = RepeatSession.objects.filter(pk__in=in_number_array([pk for pk, _ in fenced]))
    current = set(rows.values_list("pk", "change"))
    gone = [pk for pk, change in fenced if (pk, change) in current]
    # Records and steps first: the foreign keys have no cascade in the database.
    with connection.cursor() as cursor:
        for model, column in ((SessionRecord, "session_id"), (SessionStep, "session_id"), (RepeatSession, "id")):
            cursor.executemany(f"DELETE FROM {model._meta.db_table} WHERE {column} = %s", [[pk] for pk in gone])
    return set(gone)


@dataclass(frozen=True)
class _Next:
    """The next state of a session that is not over: saved at its old time and place, saved after a delay in the last
    place, or exhausted."""

    status: RepeatSession.Status
    repeats: int
    due_at: datetime | None = None
    delay: float | None = None


def _save_again(outcomes: Sequence[Outcome], changed_themes: Collection[int]) -> set[int]:
    """Save sessions that are not over, in order of id, and then record, theme by theme, those that are exhausted.

    The changed themes are locked too, all in one order: two processes that record at once cannot deadlock.
    """
    with transaction.atomic():
        nexts = [_next(each) for each in outcomes]
        written = (_save_on_postgresql if connection.vendor == "postgresql" else _save_on_sqlite)(outcomes, nexts)
        kept = [each for each in outcomes if each.claim.row.pk in written]
        write_steps([step for each in kept for step in _steps(each)])
        exhausted = [each for each in kept if _is_last(each)]
        for number in sorted({each.claim.theme.pk for each in exhausted}.union(changed_themes)):
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
        # It keeps its time and its place.
        return _Next(RepeatSession.Status.SAVED, row.repeats, due_at=outcome.claim.was_due_at)
    if outcome.result is Result.LAPSED:
        return _Next(RepeatSession.Status.SAVED, row.repeats, delay=theme.delay)
    if _is_last(outcome):
        return _Next(RepeatSession.Status.EXHAUSTED, row.repeats + 1)
    return _Next(RepeatSession.Status.SAVED, row.repeats + 1, delay=theme.delay + theme.jitter * random.random())


def _save_on_postgresql(outcomes: Sequence[Outcome], nexts: Sequence[_Next]) -> set[int]:
    rows = [
        (outcome.claim.row.pk, outcome.claim.row.change, each.status.value, each.repeats, each.due_at, each.delay)
        for outcome, each in zip(outcomes, nexts, strict=True)
    ]
    return {pk for (pk,) in bulk_fetch("notifications", "save_sessions", rows)}


def _save_on_sqlite(outcomes: Sequence[Outcome], nexts: Sequence[_Next]) -> set[int]:
    """Do what `save_sessions.postgresql.sql` does, under the write lock of SQLite."""
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
