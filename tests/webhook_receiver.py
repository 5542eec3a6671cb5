"""A webhook receiver on loopback: the path says how it answers, and it records every call."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web

HANG_SECONDS = 3600


@dataclass(frozen=True)
class Call:
    path: str
    id: str
    headers: dict[str, str]
    body: bytes
    status: int | None
    """What was answered; None where the answer never came."""

    @property
    def json(self) -> dict[str, Any]:
        decoded: dict[str, Any] = json.loads(self.body)
        return decoded


class Receiver:
    """`/200/…`, `/500/…` and so on answer that status; the other paths misbehave in their own way."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.status: dict[str, int] = {}
        """Overrides by path, which a test may change while it runs."""
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def taken(self) -> list[Call]:
        """Return the calls that were answered with success."""
        return [call for call in self.calls if call.status is not None and 200 <= call.status < 300]

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(60)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(60)

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        runner = web.ServerRunner(web.Server(self._handle), shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = runner.addresses[0][1]
        self._ready.set()
        await self._over.wait()
        await runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        body = await request.read()
        kind = request.path.split("/")[1]
        status = self.status.get(request.path, int(kind) if kind.isdigit() else None)
        self._remember(request, body, 200 if kind == "big" else status)
        if kind == "hang":
            await asyncio.sleep(HANG_SECONDS)
        if kind == "drip":
            return await _drip(request)
        if kind == "big":
            return web.Response(body=bytes(10 * 1024 * 1024))
        headers = {"Location": self.url("/200/moved")} if status in (301, 302, 307) else {}
        headers |= {"Retry-After": "1"} if status == 429 else {}
        return web.Response(status=status or 500, headers=headers, text="noted")

    def _remember(self, request: web.BaseRequest, body: bytes, status: int | None) -> None:
        headers = {name.lower(): value for name, value in request.headers.items()}
        with self._lock:
            self.calls.append(Call(request.path, headers.get("webhook-id", ""), headers, body, status))


async def _drip(request: web.BaseRequest) -> web.StreamResponse:
    """Begin an answer and never end its head."""
    assert request.transport is not None
    while not request.transport.is_closing():
        request.transport.write(b"H")
        await asyncio.sleep(0.5)
    return web.Response()


@contextmanager
def run_receiver() -> Iterator[Receiver]:
    """Serve in a thread until the block ends."""
    receiver = Receiver()
    receiver.start()
    try:
        yield receiver
    finally:
        receiver.stop()
