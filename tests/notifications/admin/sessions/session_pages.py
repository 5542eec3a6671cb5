"""Addresses and forms of the pages of sessions, and sessions for them to show."""

from typing import Any

from django.utils import timezone

from notifications.models import RepeatSession
from notifications.sessions.enqueue import enqueue_session
from tests.notifications.sessions.themes import repeat_due

LIST = "/admin/notifications/repeatsession/"
HOUR, DAY = 3600, 86_400


def address(session_id: int, page: str = "change") -> str:
    return f"{LIST}{session_id}/{page}/"


def exhausted(number: int = 7) -> int:
    """Leave a session that has failed as often as its theme allows."""
    session_id = enqueue_session(theme=number, records=[1], delay=0)
    RepeatSession.objects.filter(pk=session_id).update(repeats=9)
    repeat_due()
    return session_id


def many(action: str, ids: list[int], **answers: Any) -> dict[str, Any]:
    return {"action": action, "_selected_action": ids, **answers}


def confirmed(action: str, ids: list[int], **answers: Any) -> dict[str, Any]:
    return many(action, ids, confirmed="yes", keys=",".join(map(str, ids)), **answers)


def due_in(session_id: int) -> float:
    """Return after how many minutes a session is due, roughly."""
    return round((RepeatSession.objects.get(pk=session_id).due_at - timezone.now()).total_seconds() / 60)
