"""Web sockets are opened by our own pages alone: a browser sends the session along whoever's page asks for it."""

from io import BytesIO
from typing import Any
from urllib.parse import SplitResult

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest

DEFAULT_PORTS = {"http": 80, "https": 443}


class SameOrigin:
    """Refuse a handshake unless scheme, host and port of its page are those of PUBLIC_URL, or those it calls itself.

    The port too: cookies know none, so a page of another program on the same machine would come with our session.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self._public = origin_of(settings.PUBLIC_URL)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        sent = [value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"]
        if len(sent) == 1 and sent[0] in (self._public, _called_origin(scope)):
            await self._app(scope, receive, send)
        else:
            await send({"type": "websocket.close"})


def origin_of(url: SplitResult) -> str:
    """Write an origin as browsers do: in small letters, without the port that goes without saying."""
    place = url.netloc.lower()
    return f"{url.scheme}://{place.removesuffix(f':{DEFAULT_PORTS[url.scheme]}')}"


def _called_origin(scope: Any) -> str | None:
    """Return the origin that the call itself is addressed to, if that is one of ours."""
    scheme = {"ws": "http", "wss": "https"}.get(scope.get("scheme", "ws"), "http")
    try:
        host = ASGIRequest({**scope, "type": "http", "method": "GET"}, BytesIO()).get_host()
    except DisallowedHost:
        return None
    return origin_of(SplitResult(scheme, host, "", "", ""))
