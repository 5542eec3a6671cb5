"""A socket of the live page as a browser has it, on the product's own ASGI application; it may stop reading."""

import asyncio
import json
from collections.abc import Callable
from typing import Any, cast

from config.asgi import application

PATIENCE_SECONDS = 60.0
Frame = dict[str, Any]


class Socket:
    def __init__(
        self,
        session: str = "",
        *,
        origin: str | None = "http://127.0.0.1:8000",
        language: str = "en",
        query: str = "",
    ) -> None:
        headers = [(b"host", b"127.0.0.1:8000"), (b"accept-language", language.encode())]
        headers.append((b"cookie", f"sessionid={session}".encode()))
        if origin is not None:
            headers.append((b"origin", origin.encode()))
        self._scope = {
            "type": "websocket",
            "path": "/ws/dashboard/",
            "query_string": query.encode(),
            "headers": headers,
            "subprotocols": [],
        }
        self._incoming: asyncio.Queue[Frame] = asyncio.Queue()
        self._outgoing: asyncio.Queue[Frame] = asyncio.Queue()
        self.reads = asyncio.Event()
        self.reads.set()
        self.task: asyncio.Task[None] | None = None

    async def open(self) -> str:
        """Connect; return the type of the answer."""
        self.task = asyncio.create_task(cast(Any, application)(self._scope, self._incoming.get, self._send))
        self._incoming.put_nowait({"type": "websocket.connect"})
        return str((await self._receive())["type"])

    async def frame(self) -> Frame:
        message = await self._receive()
        assert message["type"] == "websocket.send", message
        return dict(json.loads(message["text"]))

    async def frame_with(self, wanted: Callable[[Frame], bool]) -> Frame:
        """Read on until a frame is the wanted one."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not wanted(frame := await self.frame()):
                pass
        return frame

    async def frames_of(self, seconds: float) -> list[Frame]:
        """Return all that comes within a time."""
        await asyncio.sleep(seconds)
        return [await self.frame() for _ in range(self._outgoing.qsize())]

    async def closed(self) -> int:
        """Wait for the server to close; return the code."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (message := await self._outgoing.get())["type"] != "websocket.close":
                pass
        return int(message["code"])

    async def leave(self) -> None:
        self.reads.set()
        self._incoming.put_nowait({"type": "websocket.disconnect", "code": 1001})
        if self.task is not None:
            await asyncio.wait_for(self.task, PATIENCE_SECONDS)

    async def _send(self, message: Frame) -> None:
        await self.reads.wait()
        self._outgoing.put_nowait(message)

    async def _receive(self) -> Frame:
        return await asyncio.wait_for(self._outgoing.get(), PATIENCE_SECONDS)
