"""Who may watch, and what of it: asked when a socket opens and again while it is open."""

from dataclasses import dataclass, field
from importlib import import_module
from io import BytesIO
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.backends.base import UpdateError
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest
from django.utils.translation import get_language_from_request

from config.access.scopes import Scope, permission
from config.admin_base.time_zone import find_zone

PERMISSIONS = {
    "processes": "exchange.view_exchangeprocess",
    "sensors": "sensors.view_sensor",
    "deliveries": "notifications.view_delivery",
    "alerts": "notifications.view_alert",
    "incidents": "notifications.view_incident",
    "parked": "notifications.view_parkedmessage",
    "followers": "notifications.view_follower",
    "sessions": "notifications.view_repeatsession",
    "workflows": f"records.{permission(Scope.WORKFLOWS_READ)}",
    "changes": "coordination.view_appevent",
    "messages": "messaging.view_message",
    "clients": "sensors.view_client",
}
DEEDS = {
    "tasks": f"records.{permission(Scope.WORKFLOWS_WRITE)}",
    "acknowledge": f"records.{permission(Scope.OPERATIONS)}",
}
"""What somebody may do, so that nobody is shown what would be refused."""


@dataclass(frozen=True)
class Ticket:
    """What a socket brought along."""

    session: str
    language: str
    is_wall: bool = False
    """Of a screen on the wall: nobody touches it, so that its line alone keeps its session in use."""


@dataclass(frozen=True)
class Audience:
    """Those who see the same: one message serves all of them."""

    parts: frozenset[str]
    language: str
    zone: str = field(default="UTC", compare=False)
    """In which this viewer sees times; no message that several viewers share has it."""


def ticket_of(scope: dict[str, Any]) -> Ticket:
    # The handshake is a call as any other, but for the type of its scope.
    request = ASGIRequest({**scope, "type": "http", "method": "GET"}, BytesIO())
    session = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
    return Ticket(session, get_language_from_request(request), is_wall=request.GET.get("wall") == "1")


def admit(ticket: Ticket) -> Audience | None:
    """Return what the owner of the session may see now; nothing unless it is staff that is signed in.

    A desk makes calls while somebody sits there, and its session ends when they stop; a wall makes none.
    """
    if not ticket.session:
        return None
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(ticket.session)
    user = get_user(request)
    if not (user.is_active and user.is_staff):
        return None
    if ticket.is_wall and request.session.modified:
        try:
            request.session.save()
        except UpdateError:  # signed out meanwhile
            return None
    request.user = user
    return Audience(parts_of(user), ticket.language, find_zone(request).key)


def parts_of(user: Any) -> frozenset[str]:
    """Return the parts of the page that somebody may see, and what they may do there."""
    allowed = {part for part, needed in {**PERMISSIONS, **DEEDS}.items() if user.has_perm(needed)}
    return frozenset(allowed | {"engines", "runtime"})
