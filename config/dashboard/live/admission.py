"""Who may watch, and what of it: asked when a socket opens and again while it is open."""

from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest
from django.utils.translation import get_language_from_request

PERMISSIONS = {
    "processes": "exchange.view_exchangeprocess",
    "sensors": "sensors.view_sensor",
    "deliveries": "notifications.view_delivery",
    "alerts": "notifications.view_alert",
}


@dataclass(frozen=True)
class Ticket:
    """What a socket brought along."""

    session: str
    language: str


@dataclass(frozen=True)
class Audience:
    """Those who see the same: one message serves all of them."""

    parts: frozenset[str]
    language: str


def ticket_of(scope: dict[str, Any]) -> Ticket:
    # The handshake is a call as any other, but for the type of its scope.
    request = ASGIRequest({**scope, "type": "http", "method": "GET"}, BytesIO())
    session = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    return Ticket(session, get_language_from_request(request))


def admit(ticket: Ticket) -> Audience | None:
    """Return what the owner of the session may see now; nothing unless it is staff that is signed in."""
    if not ticket.session:
        return None
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(ticket.session)
    user = get_user(request)
    if not (user.is_active and user.is_staff):
        return None
    seen = {part for part, permission in PERMISSIONS.items() if user.has_perm(permission)}
    return Audience(frozenset(seen | {"engines"}), ticket.language)
