"""Sessions end two weeks after they began, and earlier when nobody has called for `SESSION_IDLE_MINUTES`.

The store looks itself, so that it holds for pages, calls and web sockets alike.
"""

from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore as DatabaseSessionStore
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

BEGUN, SEEN = "_begun_at", "_seen_at"
NOTED_EVERY_SECONDS = 60
"""A session that is used is written once in this time, not with every call."""
UNATTENDED = "X-Unattended"
"""The header of calls that the scripts of an open page make by themselves."""


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
        if now - seen >= min(NOTED_EVERY_SECONDS, settings.SESSION_IDLE_SECONDS // 2):
            data[SEEN] = now
            self.modified = True
        return data

    def save(self, must_create: bool = False) -> None:
        self.setdefault(BEGUN, _now())
        super().save(must_create)


class UnattendedMiddleware(MiddlewareMixin):
    """Leave the session of a call that a page has made by itself as it was: its owner may have left the desk."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if UNATTENDED in request.headers:
            request.session.modified = False
        return response


def _now() -> int:
    return int(timezone.now().timestamp())
