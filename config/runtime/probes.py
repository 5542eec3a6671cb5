"""The ASGI layer of the pages that machines watch."""

from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, HTTPScope, Scope
from django.conf import settings
from django.http import HttpRequest

from config.common.web.limits.lanes import HEARING, METRICS
from config.runtime.views import healthz, readyz


class Probes:
    """Answer `/healthz` and `/readyz` before any slot, and let the others be called by the node's own address.

    Inside Django each would need one of the threads that a busy node has none left of, and a host name that probes and
    scrapers, which call a node by its address, do not send.
    """

    def __init__(self, app: ASGI3Application) -> None:
        self._app = app
        self._pages = {"/healthz": healthz, "/readyz": readyz}
        self._host = (settings.PUBLIC_URL.netloc or "localhost").encode()

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] in self._pages and scope["method"] in ("GET", "HEAD"):
            await self._answer(scope, send)
        elif scope["path"] in (METRICS, HEARING):
            await self._app(self._called_by_name(scope), receive, send)
        else:
            await self._app(scope, receive, send)

    async def _answer(self, scope: HTTPScope, send: ASGISendCallable) -> None:
        response = await self._pages[scope["path"]](HttpRequest())
        body = response.content if scope["method"] == "GET" else b""
        headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
        headers.append((b"content-length", str(len(response.content)).encode()))
        headers.append((b"cache-control", b"no-store"))
        await send(
            {"type": "http.response.start", "status": response.status_code, "headers": headers, "trailers": False}
        )
        await send({"type": "http.response.body", "body": body, "more_body": False})

    def _called_by_name(self, scope: HTTPScope) -> HTTPScope:
        others = [header for header in scope["headers"] if header[0] != b"host"]
        return {**scope, "headers": [*others, (b"host", self._host)]}
