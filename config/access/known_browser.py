"""Browsers that have signed in before, known by a signed cookie: no flood of other people's guesses keeps them out.

The cookie opens nothing: its holder still has to know the password, and has as many guesses as anybody.
"""

import secrets
from typing import Any

from asgiref.typing import HTTPScope
from django.conf import settings
from django.core import signing
from django.http import HttpRequest, parse_cookie
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from config.common.web.limits.callers import network_in

KNOWN_DAYS = 90
MOST_CHARACTERS = 2000
# Cookies were signed under this name first: another one would make every browser a stranger.
_SALT = "config.records.known_browser"
_ATTRIBUTE = "_known_browser"


def find_known_browser(request: HttpRequest, name: str) -> str | None:
    """Return the id of this browser if it has signed in under that name before."""
    held = _read(request.COOKIES.get(settings.KNOWN_BROWSER_COOKIE_NAME, ""))
    return held["id"] if held is not None and held["name"] == name else None


def name_visitor(scope: HTTPScope) -> str:
    """Name whom a sign-in counts for before its form is read: a browser that has signed in before, or the network."""
    for header, value in scope["headers"]:
        if header == b"cookie":
            cookies = parse_cookie(value.decode("latin-1"))
            held = _read(cookies.get(settings.KNOWN_BROWSER_COOKIE_NAME, ""))
            if held is not None:
                return f"browser {held['id']}"
    return network_in(scope)


def _read(text: str) -> Any:
    """Return what the cookie holds, or nothing where it is not ours."""
    if not text or len(text) > MOST_CHARACTERS:
        return None
    try:
        return signing.loads(text, salt=_SALT, max_age=KNOWN_DAYS * 86_400)
    except signing.BadSignature:
        return None


def remember_browser(request: HttpRequest, name: str) -> None:
    """Set the cookie on the answer to this call."""
    browser = find_known_browser(request, name) or secrets.token_urlsafe(12)
    setattr(request, _ATTRIBUTE, signing.dumps({"name": name, "id": browser}, salt=_SALT))


class KnownBrowserMiddleware(MiddlewareMixin):
    """Set the cookie after a sign-in: the sign-in form has no response to set it on."""

    async_capable = False

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        text = getattr(request, _ATTRIBUTE, None)
        if text is not None:
            response.set_cookie(
                settings.KNOWN_BROWSER_COOKIE_NAME,
                text,
                max_age=KNOWN_DAYS * 86_400,
                secure=settings.SESSION_COOKIE_SECURE,
                httponly=True,
                samesite="Lax",
            )
        return response
