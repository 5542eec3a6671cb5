"""The calls of a session's life: create → append | rewrite → save | delete.

A write names the `change` it knows and raises it. A caller that writes to a session which a worker is repeating takes
it over: the fence voids the worker's outcome, and the session is active with its timeout before it. On a saved or
exhausted session `append` and `rewrite` change the records, not its status nor its repeat time.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext

from config.common.correlation import correlation_id
from config.common.errors import Invalid
from config.common.times import format_time
from notifications.errors import RepeatLimitReached, SessionNotFound, StaleChange
from notifications.models import RepeatSession, SessionRecord, SessionStep, Theme
from notifications.sessions.storage import (
    check_length,
    database_time_in,
    encode_records,
    insert_records,
    length_of,
    next_save_number,
    wake_scheduler,
    wake_scheduler_at,
    write_step,
)
from notifications.sessions.theme_health import close_exhausted_alerts

Status = RepeatSession.Status
What = SessionStep.What


def create_session(
    *, theme: int, records: Sequence[Any], repeat_at: datetime | None = None, delay: float | None = None
) -> int:
    """Create a session; return its id. Left untouched for the theme's timeout, it is saved by itself.

    With a time or a delay it is saved at once: a caller who has nothing to add need not call twice.
    """
    bodies = encode_records(records)
    with transaction.atomic():
        found = _get_theme(theme)
        length = length_of(bodies)
        check_length(found, length)
        session = RepeatSession.objects.create(
            theme=found,
            length=length,
            record_count=len(bodies),
            correlation_id=correlation_id(),
            **_initial_columns(found, repeat_at, delay),
        )
        insert_records(session.pk, bodies)
    return session.pk


def append_records(*, session_id: int, change: int, records: Sequence[Any]) -> None:
    bodies = encode_records(records)
    with transaction.atomic():
        session = _lock_at_change(session_id, change)
        edits = append_to_locked(session, bodies)
        _write(session, What.APPENDED, str(len(bodies)), **edits, **_touched_columns(session))


def rewrite_records(*, session_id: int, change: int, records: Sequence[Any]) -> None:
    bodies = encode_records(records)
    with transaction.atomic():
        session = _lock_at_change(session_id, change)
        edits = rewrite_locked(session, bodies)
        _write(session, What.REWRITTEN, str(len(bodies)), **edits, **_touched_columns(session))


def save_session(
    *, session_id: int, change: int, repeat_at: datetime | None = None, delay: float | None = None
) -> None:
    """Save a session for repetition: at a time, after a delay, or after the delay of its theme."""
    with transaction.atomic():
        session = _lock_at_change(session_id, change)
        if session.status == Status.EXHAUSTED:
            raise RepeatLimitReached(repeats=session.repeats, limit=session.theme.repeat_limit)
        seconds = session.theme.delay if delay is None else delay
        detail = f"+{seconds:g} s" if repeat_at is None else format_time(repeat_at)
        _write(session, What.SAVED, detail, **saved_columns(_wake_for_repeat(repeat_at, seconds)))


def delete_session(*, session_id: int) -> None:
    """Delete a session, whatever its status; a worker that is repeating it writes nothing any more."""
    with transaction.atomic():
        session = _lock_session(session_id)
        SessionRecord.objects.filter(session=session_id).delete()
        SessionStep.objects.filter(session=session_id).delete()
        RepeatSession.objects.filter(pk=session_id).delete()
        if session.status == Status.EXHAUSTED:
            close_exhausted_alerts({session.theme_id})


def saved_columns(due_at: Any) -> dict[str, Any]:
    """Return the columns of a saved session, last in the order of saving."""
    return {"status": Status.SAVED, "is_repeating": False, "due_at": due_at, "save_number": next_save_number()}


def append_to_locked(session: RepeatSession, bodies: Sequence[str]) -> dict[str, Any]:
    """Add records to a session that the caller has locked; return the changed columns of its row."""
    length = length_of(bodies, after=session.length)
    check_length(session.theme, length)
    insert_records(session.pk, bodies, first=session.record_count)
    return {"length": length, "record_count": session.record_count + len(bodies)}


def rewrite_locked(session: RepeatSession, bodies: Sequence[str]) -> dict[str, Any]:
    """Replace the records of a session that the caller has locked; return the changed columns of its row."""
    length = length_of(bodies)
    check_length(session.theme, length)
    SessionRecord.objects.filter(session=session).delete()
    insert_records(session.pk, bodies)
    return {"length": length, "record_count": len(bodies)}


def _initial_columns(theme: Theme, repeat_at: datetime | None, delay: float | None) -> dict[str, Any]:
    if repeat_at is None and delay is None:
        wake_scheduler(seconds=theme.timeout)
        return {"due_at": database_time_in(theme.timeout)}
    return saved_columns(_wake_for_repeat(repeat_at, delay or 0.0))


def _wake_for_repeat(repeat_at: datetime | None, seconds: float) -> Any:
    """Wake the scheduler in time for a repeat; return the value of `due_at`."""
    if repeat_at is None:
        wake_scheduler(seconds=seconds)
        return database_time_in(seconds)
    wake_scheduler_at(repeat_at)
    return repeat_at


def _get_theme(number: int) -> Theme:
    theme = Theme.objects.filter(pk=number).first()
    if theme is None:
        raise Invalid({"theme": [gettext("Theme not found.")]})
    return theme


def _lock_at_change(session_id: int, change: int) -> RepeatSession:
    """Lock a session; raise `StaleChange` unless the caller knows its newest change."""
    session = _lock_session(session_id)
    if session.change != change:
        raise StaleChange(change=session.change)
    return session


def _lock_session(session_id: int) -> RepeatSession:
    session = None
    if 0 < session_id < 2**63:
        # Not the theme: every write to a session of it would wait for every other.
        rows = RepeatSession.objects.select_for_update(of=("self",)).select_related("theme")
        session = rows.filter(pk=session_id).first()
    if session is None:
        raise SessionNotFound
    return session


def _touched_columns(session: RepeatSession) -> dict[str, Any]:
    """Return the columns of a touched session: an active one has its timeout before it, and no worker any more."""
    if session.status != Status.ACTIVE:
        return {}
    wake_scheduler(seconds=session.theme.timeout)
    return {"is_repeating": False, "due_at": database_time_in(session.theme.timeout)}


def _write(session: RepeatSession, what: SessionStep.What, detail: str, **changes: Any) -> None:
    RepeatSession.objects.filter(pk=session.pk).update(change=F("change") + 1, **changes)
    write_step(session, what, detail)
