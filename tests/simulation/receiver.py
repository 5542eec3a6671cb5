"""The far side of webhooks: takes messages, answers late, wrongly or not at all, and remembers what came when."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import aiohttp
import msgspec

from notifications.sending import sender, webhook
from notifications.sending.transport import HttpSessions
from tests.simulation.event_loop import SimulatedLoop
from tests.simulation.scheduler import Scheduler


@dataclass
class Arrival:
    """A message that has come, and what the receiver did with it."""

    at: float
    sender: str
    id: str
    body: dict[str, Any]
    status: int | None = None
    """What it answered; None while it has not, or never will."""
    ended_at: float | None = None
    was_heard: bool = False
    """Whether the answer reached the sender."""


@dataclass
class Receiver:
    scheduler: Scheduler
    arrivals: list[Arrival] = field(default_factory=list)

    def __post_init__(self) -> None:
        # The slower it is, the more happens while a request is under way; some are too slow for any answer.
        self.slowness = (0.05, 1.0, 4.5)[int(self.scheduler.chance("slowness") * 3)]

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """Stand behind the last line of the product: the request that has its connection."""

        async def send(request: Any, call: "_Call") -> Any:
            return await call.arrive()

        def open_sessions() -> HttpSessions:
            session: Any = _Session(self)
            return HttpSessions(session, session)

        with (
            patch.object(aiohttp.ClientRequest, "send", send),
            patch.object(sender, "open_http_sessions", open_sessions),
            patch.object(sender, "_loop_factory", lambda: lambda: SimulatedLoop(self.scheduler)),
            patch.object(sender, "_allow_many_sockets", lambda: None),
        ):
            yield


class _Session:
    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver

    def post(self, target: Any, *, data: bytes, headers: dict[str, str], timeout: Any, **_: Any) -> "_Call":
        return _Call(self._receiver, data, headers, timeout.total)

    async def close(self) -> None:
        pass


class _Call:
    def __init__(self, receiver: Receiver, data: bytes, headers: dict[str, str], seconds: float) -> None:
        self._receiver, self._scheduler = receiver, receiver.scheduler
        self._data, self._headers, self._seconds = data, headers, seconds

    async def __aenter__(self) -> Any:
        async with asyncio.timeout(self._seconds):
            await asyncio.sleep(self._scheduler.chance("way") * self._receiver.slowness)
            request: Any = object.__new__(webhook.LeasedRequest)
            return await request.send(self)

    async def __aexit__(self, *_: object) -> None:
        pass

    async def arrive(self) -> Any:
        """Take the message, or lose it on its way; answer after a while."""
        self._scheduler.point("posts", self._headers["webhook-id"][-4:])
        fate = 1.0 if self._scheduler.is_calm else self._scheduler.chance("fate")
        if fate < 0.05:
            raise aiohttp.ServerDisconnectedError
        process = self._scheduler.process()
        arrival = Arrival(
            self._scheduler.now, process.name, self._headers["webhook-id"], msgspec.json.decode(self._data)
        )
        self._receiver.arrivals.append(arrival)
        self._scheduler.tell("RECEIVER GETS", f"{arrival.id[-4:]} {arrival.body}")
        try:
            await asyncio.sleep(0.02 + self._scheduler.chance("work") * 2 * self._receiver.slowness)
            if fate < 0.15:
                raise aiohttp.ServerDisconnectedError
            arrival.status = 500 if fate < 0.5 else 200
            arrival.was_heard = True
            return _response(arrival.status)
        finally:
            arrival.ended_at = self._scheduler.now
            # Between an answer and its record: where a sender that stands still does the most harm.
            self._scheduler.point("has its answer", str(arrival.status), weight=12)


def _response(status: int) -> Any:
    async def read(size: int) -> bytes:
        return b""

    return SimpleNamespace(status=status, headers={}, content=SimpleNamespace(at_eof=lambda: True, read=read))
