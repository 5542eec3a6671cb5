"""Sessions end two weeks after they began, and earlier when nobody has called for `SESSION_IDLE_MINUTES`.

The store looks itself, so that it holds for pages, calls and web sockets alike.
"""

from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.utils import timezone

BEGUN, SEEN = "_begun_at", "_seen_at"
NOTED_EVERY_SECONDS = 60
"""A session that is used is written once in this time, not with every call."""


class SessionStore(DatabaseSessionStore):
    def load(self) -> dict[str, Any]:
        """Return the data of the session and mark it as used; an expired session is empty."""
        data: dict[str, Any] = super().load()
        now = _now()
        begun = data.get(BEGUN, now)
        seen = data.get(SEEN, begun)
        if now - seen > settings.SESSION_IDLE_SECONDS or now - begun > settings.SESSION_COOKIE_AGE:
            self._session_key = None
            return {}
        if now - seen >= NOTED_EVERY_SECONDS:
            data[SEEN] = now
            self.modified = True
        return data

    def save(self, must_create: bool = False) -> None:
        self.setdefault(BEGUN, _now())
        super().save(must_create)


def _now() -> int:
    return int(timezone.now().timestamp())
