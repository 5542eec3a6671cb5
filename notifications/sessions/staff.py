"""What staff do on the pages: over many sessions batch by batch, and with a line in the change log where nothing else
would tell of it.

Each batch is a transaction of its own. One that dies between two of them has done a part, and is safe to send again:
what has been done is left out then, because its state has changed, or because its form is known.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any
from uuid import UUID, uuid5

from django.db import transaction

from config.audit.changes import record_change
from config.records.form_claims import SentTwice, claim_form
from config.records.models import ChangeRecord
from notifications.errors import SessionNotFound
from notifications.models import RepeatSession
from notifications.sessions.lifecycle import delete_session, rewrite_records
from notifications.sessions.operator_actions import repeat_now, revive_sessions, shift_sessions
from notifications.sessions.presentation import get_session

KIND = "session"
BATCH = 500
MOST_AT_ONCE = 10_000
MOST_DELETED_AT_ONCE = 1_000
"""Each is deleted by itself: with its theme locked for the alert, two batches would wait for each other in a circle."""


def repeat_many(*, session_ids: Sequence[int], actor: str) -> int:
    """Let saved sessions be due at once; return how many there were."""
    return sum(repeat_now(session_ids=batch, actor=actor) for batch in _batches(session_ids))


def shift_many(*, session_ids: Sequence[int], seconds: float, form_id: UUID, actor: str) -> int:
    """Move the repeat times of saved sessions, once for a form though it be sent twice; return how many there were.

    A form that moved nothing because it is known is refused as sent twice.
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
    """Let exhausted sessions begin anew; return how many there were."""
    return sum(revive_sessions(session_ids=batch, actor=actor) for batch in _batches(session_ids))


def delete_many(*, session_ids: Sequence[int], actor: str) -> int:
    """Delete sessions, whatever their state; return how many were still there."""
    done = 0
    for session_id in session_ids:
        try:
            delete_by_staff(session_id=session_id, actor=actor)
        except SessionNotFound:
            continue  # repeated with success meanwhile, or deleted by someone else
        done += 1
    return done


def delete_by_staff(*, session_id: int, actor: str) -> None:
    """Delete a session; its timeline goes with it, so the change log tells who did it."""
    with transaction.atomic():
        session = get_session(session_id)
        delete_session(session_id=session_id)
        _tell(session, ChangeRecord.Action.DELETED, _outline(session), None, actor)


def edit_records(*, session_id: int, change: int, records: Sequence[Any], actor: str) -> None:
    """Replace the records of a session, of which the caller knows the newest state."""
    with transaction.atomic():
        before = get_session(session_id)
        rewrite_records(session_id=session_id, change=change, records=records)
        after = get_session(session_id)
        _tell(before, ChangeRecord.Action.CHANGED, _outline(before), _outline(after), actor)


def _batches(session_ids: Sequence[int]) -> Iterator[list[int]]:
    rest = iter(session_ids)
    while batch := list(islice(rest, BATCH)):
        yield batch


def _outline(session: RepeatSession) -> dict[str, Any]:
    """What the log keeps of a session: not its records, which are its caller's."""
    return {
        "theme": session.theme_id,
        "status": str(session.status),
        "change": session.change,
        "repeats": session.repeats,
        "records": session.record_count,
        "length": session.length,
        "correlation_id": session.correlation_id,
    }


def _tell(
    session: RepeatSession,
    action: ChangeRecord.Action,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    actor: str,
) -> None:
    record_change(kind=KIND, object_id=str(session.pk), action=action, before=before, after=after, actor=actor)
