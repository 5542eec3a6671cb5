from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from config.dashboard.live import broadcast
from config.dashboard.live import consumer as consuming
from config.dashboard.live.admission import DEEDS, PERMISSIONS, Audience, Ticket
from config.dashboard.live.doors import Fleet
from config.dashboard.live.page_state import Beside, Mark, PageState, Parts
from config.dashboard.live.processes import ProcessRow
from sensors.selectors import FleetTally
from tests.config.dashboard.live.socket import Socket

AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
EVERYTHING = Audience(frozenset(PERMISSIONS) | frozenset(DEEDS) | {"engines", "runtime"}, "en")
Open = Callable[..., Awaitable[Socket]]


@pytest.fixture(autouse=True)
def _rare_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let news alone be told; the tests of the heartbeat say how often it is."""
    monkeypatch.setattr(broadcast, "HEARTBEAT_SECONDS", 3600.0)


@pytest.fixture
async def open_socket() -> AsyncIterator[Open]:
    """Open sockets that are left at the end of the test."""
    opened: list[Socket] = []

    async def open_one(session: str = "", **options: Any) -> Socket:
        socket = Socket(session, **options)
        opened.append(socket)
        assert await socket.open() == "websocket.accept"
        return socket

    yield open_one
    for socket in opened:
        await socket.leave()


class Source:
    """What the broadcaster reads, without a database."""

    def __init__(self) -> None:
        self.facts = PageState(Parts({}, {}, {}, {}, {}), Mark(0, ()), read_at=0.0)
        self.error: Exception | None = None
        self.reads = 0
        self.is_restless = False
        self.audience: Audience | None = EVERYTHING
        self.refusal: Exception | None = None

    def read(self, last: PageState | None, *, now: float, beside: Beside) -> PageState:
        self.reads += 1
        if self.error is not None:
            raise self.error
        if self.is_restless:
            self.move(messages=self.reads)
        return self.facts

    def move(self, *, messages: int = 1, status: str = "STARTED") -> None:
        row = process_row(messages=messages, status=status)
        self.facts = replace(self.facts, parts=replace(self.facts.parts, processes={row.id: row}))

    def admit(self, ticket: Ticket) -> Audience | None:
        if self.refusal is not None:
            raise self.refusal
        return self.audience


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> Source:
    source = Source()
    monkeypatch.setattr(broadcast, "read_state", source.read)
    monkeypatch.setattr(broadcast, "engine_states", lambda: {"database": "ok"})
    monkeypatch.setattr(broadcast, "read_queues", dict)
    monkeypatch.setattr(broadcast, "read_fleet", lambda: Fleet(FleetTally(0, 0, 0, 0, 0, 0), pause=60.0))
    monkeypatch.setattr(broadcast, "admit", source.admit)
    monkeypatch.setattr(consuming, "admit", source.admit)
    return source


def process_row(*, number: int = 1, status: str = "STARTED", messages: int = 1) -> ProcessRow:
    return ProcessRow(UUID(int=number), "acme-erp", "ERP", status, AT, None, None, messages, 0, 0)
