"""The repeat sessions of the live page: how many are due within the hour, and which come next."""

from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.urls import reverse

from config.common.database.row_lists import Lists, Questions, Row
from config.dashboard.live.counts import HOUR
from notifications.models import RepeatSession
from notifications.sessions.backlog import count_stretches

STRETCHES = 12
MOST_SESSIONS = 5


def ask_sessions() -> Questions:
    """Return the query for the sessions that come next."""
    saved = RepeatSession.objects.filter(status=RepeatSession.Status.SAVED).order_by("due_at", "save_number")
    return {
        "next_sessions": saved.values("pk", "theme", "theme__handler", "theme__url", "repeats", "due_at")[
            :MOST_SESSIONS
        ]
    }


def read_sessions(at: datetime, *, counts: dict[str, int], lists: Lists) -> dict[str, Any]:
    """Return the part `sessions`; its minutes are those to come, five of them in each number."""
    # From a full minute on, so that the bars stand still while nothing changes.
    begin = at.replace(second=0, microsecond=0)
    return {
        "overdue": counts["sessions_overdue"],
        "due": counts["sessions_due"],
        "exhausted": counts["exhausted"],
        "minutes": [stretch.count for stretch in count_stretches(begin, begin + HOUR, STRETCHES)]
        if counts["sessions_due"]
        else [],
        "next": [_session(row) for row in lists["next_sessions"]] if counts["sessions_due"] else [],
    }


def _session(row: Row) -> dict[str, Any]:
    return {
        "key": row["pk"],
        "name": f"{row['theme']}/{row['pk']}",
        "repeater": row["theme__handler"] or urlsplit(row["theme__url"]).netloc,
        "repeats": row["repeats"],
        "at": row["due_at"],
        "page": reverse("admin:notifications_repeatsession_change", args=[row["pk"]]),
    }
