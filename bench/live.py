"""The live page: messages a second to 200 sockets, against Channels' own way: `group_send` to as many consumers.

Both get the same news of the page, one after the other, each when the last socket has had the one before. Ours goes the
whole way from a new state of the page: what changed is found, encoded once for all who see the same, and queued at each
socket; the pause between two messages to one socket, which spares its reader, is taken away. Theirs is given the
finished message, and the in-memory layer, which is its quickest.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch
from uuid import UUID

from channels.generic.websocket import AsyncJsonWebsocketConsumer
from channels.layers import InMemoryChannelLayer, channel_layers
from django.contrib.auth.models import User
from django.test import Client

from bench.figure import Figure, compare
from config.dashboard.live import broadcast, consumer
from config.dashboard.live.page_state import Beside, Mark, PageState, Parts
from config.dashboard.live.processes import ProcessRow

SOCKETS = 200
MESSAGES = 40
GROUP = "dashboard"
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def figures() -> list[Figure]:
    session = _sign_in()
    return [
        compare(
            "live",
            "messages/s",
            ours=lambda: _rate(lambda: asyncio.run(_broadcast(session))),
            yardstick=lambda: _rate(lambda: asyncio.run(_send_to_group())),
            must=3,
            aims=10,
        )
    ]


def _rate(run: Callable[[], float]) -> float:
    return SOCKETS * MESSAGES / run()


def _sign_in() -> str:
    User.objects.filter(username="bench").delete()
    person = User.objects.create_superuser("bench")
    client = Client()
    client.force_login(person)
    return client.cookies["sessionid"].value


# --- what both send ---------------------------------------------------------------------------------------------------


def _state(number: int) -> PageState:
    """Return the page after the news of this number: a process moved, a door changed, a chart went on."""
    row = ProcessRow(UUID(int=7), "erp", "Main ERP", "CLEANUP", AT, AT, None, 10, 10, number % 10)
    changes = [
        {
            "key": key,
            "sensor": f"s{key}",
            "address": "1 Gate Street",
            "what": "opened",
            "at": AT,
            "page": f"/admin/{key}/",
        }
        for key in range(number, number + 20)
    ]
    sensors = {"lost": 3, "deaf": False, "online": 900 + number, "minutes": [number] * 60, "changes": changes}
    deliveries = {"pending": number, "dead": 0, "sent": number, "minutes": [number] * 60}
    return PageState(Parts({row.id: row}, sensors, deliveries, {}, {}), Mark(number, ()), read_at=float(number))


def _frame(number: int) -> dict[str, Any]:
    parts = _state(number).parts
    rows = [{**vars(row), "id": str(row.id)} for row in parts.processes.values()]
    frame = {"type": "delta", "at": AT, "processes": rows, "sensors": parts.sensors, "deliveries": parts.deliveries}
    return dict(_as_text({**frame, "alerts": [], "engines": {}}))


def _as_text(value: Any) -> Any:
    """Write times as text: what goes through a layer must be plain."""
    if isinstance(value, dict):
        return {name: _as_text(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_as_text(each) for each in value]
    return value.isoformat() if isinstance(value, datetime) else value


# --- sockets ----------------------------------------------------------------------------------------------------------


class Sockets:
    """Sockets of an application without a network: they count what each is sent."""

    def __init__(self, application: Any, session: str = "") -> None:
        self._application, self._session = application, session
        self._ends: list[asyncio.Queue[dict[str, str]]] = []
        self._tasks: list[asyncio.Task[None]] = []
        self.accepted = self.received = 0
        self._wanted = 0
        self._all_there, self._all_open = asyncio.Event(), asyncio.Event()

    async def open(self) -> None:
        for _ in range(SOCKETS):
            end: asyncio.Queue[dict[str, str]] = asyncio.Queue()
            end.put_nowait({"type": "websocket.connect"})
            self._ends.append(end)
            self._tasks.append(asyncio.create_task(self._application(self._scope(), end.get, self._take)))
        await self._all_open.wait()

    async def wait_for(self, messages: int) -> None:
        """Wait until each socket has had so many messages."""
        self._wanted = messages * SOCKETS
        self._all_there.clear()
        if self.received < self._wanted:
            await self._all_there.wait()

    async def close(self) -> None:
        for end in self._ends:
            end.put_nowait({"type": "websocket.disconnect", "code": "1001"})
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _take(self, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.accept":
            self.accepted += 1
            if self.accepted == SOCKETS:
                self._all_open.set()
        elif message["type"] == "websocket.send":
            self.received += 1
            if self.received >= self._wanted:
                self._all_there.set()

    def _scope(self) -> dict[str, Any]:
        headers = [(b"host", b"127.0.0.1:8000"), (b"cookie", f"sessionid={self._session}".encode())]
        return {"type": "websocket", "path": "/", "query_string": b"", "headers": headers, "subprotocols": []}


# --- ours -------------------------------------------------------------------------------------------------------------


class News:
    """States of the page, the next one when every socket has had the last."""

    def __init__(self) -> None:
        self._number = 0
        self._may_go_on = threading.Semaphore(1)

    def read(self, last: PageState | None, *, now: float, beside: Beside) -> PageState:
        self._may_go_on.acquire(timeout=60)
        self._number += 1
        return _state(self._number)

    def go_on(self) -> None:
        self._may_go_on.release()


async def _broadcast(session: str) -> float:
    news = News()
    sockets = Sockets(consumer.DashboardConsumer.as_asgi(), session)
    unhurried = patch.object(broadcast, "BEAT_SECONDS", 0.0), patch.object(consumer, "BEAT_SECONDS", 0.0)
    with unhurried[0], unhurried[1], patch.object(broadcast, "read_state", news.read):
        try:
            await sockets.open()
            await sockets.wait_for(1)  # the snapshot
            began = time.perf_counter()
            for number in range(MESSAGES):
                news.go_on()
                await sockets.wait_for(number + 2)
            return time.perf_counter() - began
        finally:
            news.go_on()
            await sockets.close()


# --- theirs -----------------------------------------------------------------------------------------------------------


class GroupConsumer(AsyncJsonWebsocketConsumer):  # type: ignore[misc]  # channels has no types
    async def connect(self) -> None:
        await self.channel_layer.group_add(GROUP, self.channel_name)
        await self.accept()

    async def disconnect(self, code: int) -> None:
        await self.channel_layer.group_discard(GROUP, self.channel_name)

    async def page_changed(self, event: dict[str, Any]) -> None:
        await self.send_json(event["frame"])


async def _send_to_group() -> float:
    layer = InMemoryChannelLayer()
    channel_layers.set("default", layer)
    frames = [_frame(number) for number in range(MESSAGES)]
    sockets = Sockets(GroupConsumer.as_asgi())
    try:
        await sockets.open()
        began = time.perf_counter()
        for number, frame in enumerate(frames):
            await layer.group_send(GROUP, {"type": "page.changed", "frame": frame})
            await sockets.wait_for(number + 1)
        return time.perf_counter() - began
    finally:
        await sockets.close()
