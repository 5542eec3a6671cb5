"""What operators do with sessions: repeat them now, shift their time, revive exhausted ones, delete, edit records.

Many sessions go batch by batch, each a transaction of its own. A call that dies between two batches has done a part and
is safe to send again: what has been done is left out then, because its state has changed or because its form is known.
"""

from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any
from uuid import UUID, uuid5

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from config.audit.changes import record_change
from config.common.database.sql import in_number_array
from config.records.form_claims import SentTwice, claim_form
from config.records.models import ChangeRecord
from notifications.errors import SessionNotFound, WrongStatus
from notifications.models import RepeatSession, SessionStep
from notifications.sessions.lifecycle import delete_session, rewrite_records, saved_columns
from notifications.sessions.presentation import get_session
from notifications.sessions.storage import wake_scheduler, write_steps
from notifications.sessions.theme_health import close_exhausted_alerts

Status = RepeatSession.Status
What = SessionStep.What
FIRST, LAST = datetime(1000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
"""The bounds of a shift: a row with a time outside of Python's range could not be read any more."""


def repeat_now(*, session_ids: Collection[int], actor: str) -> int:
    """Make saved sessions due at once, in their order; return how many there were."""
    moved = _move(session_ids, Now(), detail=f"{actor}: now")
    wake_scheduler(seconds=0.0)
    return moved


def shift_sessions(*, session_ids: Collection[int], seconds: float, actor: str) -> int:
    """Move the repeat times of saved sessions, later or earlier; return how many there were."""
    shift = timedelta(seconds=seconds)
    movable = {"due_at__range": (FIRST - shift, LAST - shift)}
    moved = _move(session_ids, F("due_at") + shift, detail=f"{actor}: {seconds:+g} s", **movable)
    if seconds < 0:
        wake_scheduler(seconds=0.0)
    return moved


def revive_sessions(*, session_ids: Collection[int], actor: str) -> int:
    """Make exhausted sessions begin anew, due at once; return how many there were."""
    with transaction.atomic():
        locked = _lock_in_status(session_ids, Status.EXHAUSTED)
        for row in locked:
            fresh = {**saved_columns(Now()), "repeats": 0, "change": F("change") + 1}
            RepeatSession.objects.filter(pk=row.pk).update(**fresh)
        _write_steps(locked, What.REVIVED, actor)
        close_exhausted_alerts({row.theme_id for row in locked})
        wake_scheduler(seconds=0.0)
    return len(locked)


def require_moved(session_id: int, moved: int) -> None:
    """Raise `WrongStatus` if nothing was done to the one session."""
    if not moved:
        raise WrongStatus(status=str(get_session(session_id).status))


def _move(session_ids: Collection[int], due_at: Any, *, detail: str, **conditions: Any) -> int:
    with transaction.atomic():
        locked = _lock_in_status(session_ids, Status.SAVED, **conditions)
        rows = RepeatSession.objects.filter(pk__in=in_number_array([row.pk for row in locked]))
        rows.update(due_at=due_at, change=F("change") + 1)
        _write_steps(locked, What.MOVED, detail)
    return len(locked)


def _lock_in_status(
    session_ids: Collection[int], status: RepeatSession.Status, **conditions: Any
) -> list[RepeatSession]:
    """Lock those of the sessions that are still in that status, in order of id."""
    rows: QuerySet[RepeatSession] = RepeatSession.objects.select_for_update().filter(
        pk__in=in_number_array(session_ids), status=status, **conditions
    )
    return list(rows.order_by("pk"))


def _write_steps(sessions: Collection[RepeatSession], what: SessionStep.What, detail: str) -> None:
    write_steps([SessionStep(session=row, what=what, detail=detail) for row in sessions])


KIND = "session"
BATCH = 500
MOST_AT_ONCE = 10_000
MOST_DELETED_AT_ONCE = 1_000
"""Each is deleted by itself: its theme is locked for the alert, and two batches could deadlock."""


def repeat_many(*, session_ids: Sequence[int], actor: str) -> int:
    """Make saved sessions due at once, batch by batch; return how many there were."""
    return sum(repeat_now(session_ids=batch, actor=actor) for batch in _batches(session_ids))


def shift_many(*, session_ids: Sequence[int], seconds: float, form_id: UUID, actor: str) -> int:
    """Move the repeat times of saved sessions, once for a form even if it is sent twice; return how many there were.

    Raise `SentTwice` if nothing is left to move because the form is known.
    """
    moved, known = 0, 0
    for number, batch in enumerate(_batches(session_ids)):
        try:
            with transaction.atomic():
                claim_form(uuid5(form_id, str(number)), purpose="session-shift")
                moved += shift_sessions(session_ids=batch, seconds=seconds, actor=actor)
        except SentTwice:
            known += 1
    if known and not moved:
        raise SentTwice
    return moved


def revive_many(*, session_ids: Sequence[int], actor: str) -> int:
    """Make exhausted sessions begin anew, batch by batch; return how many there were."""
    return sum(revive_sessions(session_ids=batch, actor=actor) for batch in _batches(session_ids))


def delete_many(*, session_ids: Sequence[int], actor: str) -> int:
    """Delete sessions, whatever their status; return how many were still there."""
    done = 0
    for session_id in session_ids:
        try:
            delete_by_staff(session_id=session_id, actor=actor)
        except SessionNotFound:
            continue  # repeated with success meanwhile, or deleted by someone else
        done += 1
    return done


def delete_by_staff(*, session_id: int, actor: str) -> None:
    """Delete a session; the change log keeps who did it, because the timeline goes too."""
    with transaction.atomic():
        session = get_session(session_id)
        delete_session(session_id=session_id)
        _record_change(session, ChangeRecord.Action.DELETED, _outline(session), None, actor)


def edit_records(*, session_id: int, change: int, records: Sequence[Any], actor: str) -> None:
    """Replace the records of a session whose newest change the caller knows."""
    with transaction.atomic():
        before = get_session(session_id)
        rewrite_records(session_id=session_id, change=change, records=records)
        after = get_session(session_id)
        _record_change(before, ChangeRecord.Action.CHANGED, _outline(before), _outline(after), actor)


def _batches(session_ids: Sequence[int]) -> Iterator[list[int]]:
    rest = iter(session_ids)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _outline(session: RepeatSession) -> dict[str, Any]:
    """Return what the change log keeps of a session: not its records, which are its caller's."""
    return {
        "theme": session.theme_id,
        "status": str(session.status),
        "change": session.change,
        "repeats": session.repeats,
        "records": session.record_count,
        "length": session.length,
        "correlation_id": session.correlation_id,
    }


def _record_change(
    session: RepeatSession,
    action: ChangeRecord.Action,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    actor: str,
) -> None:
    record_change(kind=KIND, object_id=str(session.pk), action=action, before=before, after=after, actor=actor)
