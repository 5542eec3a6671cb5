"""What operators do with sessions: repeat one now, move many, revive an exhausted one. Each is told in the timeline."""

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from config.common.database.sql import in_number_array
from notifications.errors import WrongStatus
from notifications.models import RepeatSession, SessionStep
from notifications.sessions.exhaustion import close_exhausted_alerts
from notifications.sessions.lifecycle import saved_columns
from notifications.sessions.order import wake_scheduler
from notifications.sessions.presentation import get_session
from notifications.sessions.timeline import write_steps

Status = RepeatSession.Status
What = SessionStep.What
FIRST, LAST = datetime(1000, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
"""No shift leads past these: a time that Python cannot read would keep the session from being read at all."""


def repeat_now(*, session_ids: Collection[int], actor: str) -> int:
    """Let saved sessions be due at once, in their order; return how many there were."""
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
    """Let exhausted sessions begin anew, due at once; return how many there were."""
    with transaction.atomic():
        held = _hold(session_ids, Status.EXHAUSTED)
        for row in held:
            fresh = {**saved_columns(Now()), "repeats": 0, "change": F("change") + 1}
            RepeatSession.objects.filter(pk=row.pk).update(**fresh)
        _note(held, What.REVIVED, actor)
        close_exhausted_alerts({row.theme_id for row in held})
        wake_scheduler(seconds=0.0)
    return len(held)


def require_moved(session_id: int, moved: int) -> None:
    """Refuse what was done to none: the one session is not there, or not in a status for that."""
    if not moved:
        raise WrongStatus(status=str(get_session(session_id).status))


def _move(session_ids: Collection[int], due_at: Any, *, detail: str, **among: Any) -> int:
    with transaction.atomic():
        held = _hold(session_ids, Status.SAVED, **among)
        rows = RepeatSession.objects.filter(pk__in=in_number_array([row.pk for row in held]))
        rows.update(due_at=due_at, change=F("change") + 1)
        _note(held, What.MOVED, detail)
    return len(held)


def _hold(session_ids: Collection[int], status: RepeatSession.Status, **among: Any) -> list[RepeatSession]:
    """Lock those of the sessions that are still in that state, in order of id."""
    rows: QuerySet[RepeatSession] = RepeatSession.objects.select_for_update().filter(
        pk__in=in_number_array(session_ids), status=status, **among
    )
    return list(rows.order_by("pk"))


def _note(sessions: Collection[RepeatSession], what: SessionStep.What, detail: str) -> None:
    write_steps([SessionStep(session=row, what=what, detail=detail) for row in sessions])
