"""Calls from their far side, and apps that take them."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

from config.common.correlation import correlation_id
from config.common.web.limits.calls import Limits

Message = dict[str, Any]
LIMITS = [("/large/", 100), ("/", 10)]


class Caller:
    """The far side of one call: what it sends, what it got."""

    def __init__(
        self, *chunks: bytes, then: str = "waits", path: str = "/", query: bytes = b"", **headers: str
    ) -> None:
        self.incoming: list[Message] = [{"type": "http.request", "body": chunk, "more_body": True} for chunk in chunks]
        if then != "stalls":
            self.incoming.append({"type": "http.request", "body": b"", "more_body": False})
        self.scope: Any = {
            "type": "http",
            "method": "POST",
            "path": path,
            "query_string": query,
            "headers": [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()],
        }
        self.got: list[Message] = []
        self.read = 0
        self.reads = True

    async def receive(self) -> Any:
        if not self.incoming:
            await asyncio.Event().wait()
        message = self.incoming.pop(0)
        self.read += len(message["body"])
        return message

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.body" and not self.reads:
            await asyncio.Event().wait()
        self.got.append(message)

    async def call(self, app: Any) -> None:
        await app(self.scope, self.receive, self.send)

    @property
    def status(self) -> int:
        return int(self.got[0]["status"])

    @property
    def headers(self) -> dict[bytes, bytes]:
        return dict(self.got[0]["headers"])

    @property
    def error(self) -> Any:
        return json.loads(b"".join(message["body"] for message in self.got[1:]))


async def reading(scope: Any, receive: Any, send: Any) -> None:
    """An app like Django: reads the body, gives up when its caller is gone, then answers."""
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message["body"])
        if not message["more_body"]:
            break
    await send({"type": "http.response.start", "status": 200, "headers": [(b"x-id", correlation_id().encode())]})
    await send({"type": "http.response.body", "body": b"%d" % size})


async def waiting(scope: Any, receive: Any, send: Any) -> None:
    await asyncio.Event().wait()


def limited(app: Callable[[Any, Any, Any], Awaitable[None]], **patience: Any) -> Limits:
    return Limits(app, body_limits=LIMITS, **patience)
