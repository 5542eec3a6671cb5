"""The beat and the lines to the sockets, over the whole application but without a database."""

import asyncio
import logging
from datetime import datetime
from typing import Any

import pytest
from django.db import OperationalError
from structlog.testing import capture_logs

from config.dashboard.live import broadcast
from config.dashboard.live import consumer as consuming
from config.dashboard.live.admission import Audience, Ticket
from config.dashboard.live.broadcast import broadcaster
from config.dashboard.live.frames import delta
from config.dashboard.live.page_state import Parts
from tests.config.dashboard.live.conftest import EVERYTHING, Open, Source

pytestmark = pytest.mark.embedded


def is_delta(frame: dict[str, Any]) -> bool:
    return bool(frame["type"] == "delta")


class TestBeat:
    async def test_tells_a_snapshot_first_and_then_what_changed(self, source: Source, open_socket: Open) -> None:
        socket = await open_socket()
        assert (await socket.frame())["type"] == "snapshot"
        source.move(status="READY_TO_COMMIT")
        frame = await socket.frame()
        assert (frame["type"], frame["processes"][0]["status"]) == ("delta", "READY_TO_COMMIT")

    async def test_is_silent_while_nothing_changes(self, source: Source, open_socket: Open) -> None:
        socket = await open_socket()
        await socket.frame()
        assert await socket.frames_of(1.0) == []
        assert source.reads > 2

    async def test_says_that_it_lives_while_nothing_changes(
        self, source: Source, open_socket: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(broadcast, "HEARTBEAT_SECONDS", 0.5)
        socket = await open_socket()
        await socket.frame()
        frames = [await socket.frame(), await socket.frame()]
        assert [set(frame) for frame in frames] == [{"type", "at"}] * 2
        assert {frame["type"] for frame in frames} == {"heartbeat"}
        assert frames[0]["at"] < frames[1]["at"]

    async def test_does_not_vouch_for_what_it_cannot_read(
        self, source: Source, open_socket: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(broadcast, "HEARTBEAT_SECONDS", 0.3)
        socket = await open_socket()
        await socket.frame()
        source.error = OperationalError("gone")
        await socket.frames_of(0.8)
        assert await socket.frames_of(1.0) == []

    async def test_news_takes_the_place_of_a_heartbeat_that_waits(self) -> None:
        line = broadcast.SocketQueue(Ticket("", "en"), EVERYTHING)
        line._is_behind = False
        line.offer_heartbeat("alive")
        line.offer("news")
        line.offer_heartbeat("alive")
        assert await line.take(broadcaster) == "news"

    async def test_tells_at_most_four_times_a_second(self, source: Source, open_socket: Open) -> None:
        source.is_restless = True
        socket = await open_socket()
        await socket.frame()
        assert 2 <= len(await socket.frames_of(2.0)) <= 8

    async def test_tells_of_an_engine_by_itself(
        self, source: Source, open_socket: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        socket = await open_socket()
        assert (await socket.frame())["engines"] == {"database": "ok"}
        monkeypatch.setattr(broadcast, "engine_states", lambda: {"database": "ok", "redis": "down"})
        assert (await socket.frame())["engines"] == {"redis": "down"}

    async def test_makes_one_message_for_all_who_see_the_same(
        self, source: Source, open_socket: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        made: list[Audience] = []

        def note(changes: Parts, audience: Audience, *, at: datetime) -> str | None:
            made.append(audience)
            return delta(changes, audience, at=at)

        monkeypatch.setattr(broadcast, "delta", note)
        sockets = [await open_socket() for _ in range(5)]
        for socket in sockets:
            await socket.frame()
        made.clear()
        source.move()
        for socket in sockets:
            await socket.frame()
        assert set(made) == {EVERYTHING}
        assert len(made) <= 2, "one a beat, whoever listens"

    async def test_ends_with_the_last_socket(self, source: Source, open_socket: Open) -> None:
        before = asyncio.all_tasks()
        sockets = [await open_socket() for _ in range(3)]
        for socket in sockets[:2]:
            await socket.leave()
        assert broadcaster.is_running
        await sockets[2].leave()
        await asyncio.sleep(0)
        assert not broadcaster.is_running
        assert asyncio.all_tasks() == before

    async def test_begins_again_with_a_snapshot_of_now(self, source: Source, open_socket: Open) -> None:
        first = await open_socket()
        await first.frame()
        await first.leave()
        source.move(status="CLEANUP")
        second = await open_socket()
        assert (await second.frame())["processes"][0]["status"] == "CLEANUP"


class TestSlowSocket:
    async def test_holds_up_nobody(self, source: Source, open_socket: Open) -> None:
        slow, quick = await open_socket(), await open_socket()
        await slow.frame()
        await quick.frame()
        slow.reads.clear()
        source.is_restless = True
        assert len(await quick.frames_of(1.5)) >= 2

    async def test_goes_on_with_a_snapshot_and_has_no_heap_of_messages(self, source: Source, open_socket: Open) -> None:
        slow = await open_socket()
        await slow.frame()
        slow.reads.clear()
        source.is_restless = True
        await asyncio.sleep(1.5)
        source.is_restless = False
        await asyncio.sleep(0.5)
        slow.reads.set()
        frames = await slow.frames_of(0.7)
        assert [frame["type"] for frame in frames] == ["delta", "snapshot"]
        assert frames[-1]["processes"][0]["messages"] == next(iter(source.facts.parts.processes.values())).messages

    async def test_is_cut_off_when_it_reads_no_more(
        self, source: Source, open_socket: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(consuming, "SEND_SECONDS", 0.3)
        socket = await open_socket()
        await socket.frame()
        socket.reads.clear()
        source.move()
        assert socket.task is not None
        await asyncio.wait_for(socket.task, 60)
        assert not broadcaster.is_running


class TestDatabaseAway:
    async def test_keeps_the_sockets_says_it_once_and_goes_on(self, source: Source, open_socket: Open) -> None:
        socket = await open_socket()
        await socket.frame()
        with capture_logs() as logs:
            source.error = OperationalError("gone")
            assert await socket.frames_of(1.2) == []
            source.error = None
            source.move()
            assert is_delta(await socket.frame())
        assert [entry["event"] for entry in logs] == ["live.database_away", "live.database_back"]

    async def test_lets_a_socket_wait_for_its_first_snapshot(self, source: Source, open_socket: Open) -> None:
        source.error = OperationalError("gone")
        socket = await open_socket()
        assert await socket.frames_of(0.6) == []
        source.error = None
        assert (await socket.frame())["type"] == "snapshot"

    async def test_closes_the_sockets_for_a_fault_of_its_own(
        self, source: Source, open_socket: Open, caplog: pytest.LogCaptureFixture
    ) -> None:
        socket = await open_socket()
        await socket.frame()
        with caplog.at_level(logging.CRITICAL):
            source.error = ZeroDivisionError()
            assert await socket.closed() == broadcast.FAILED
        assert not broadcaster.is_running
        source.error = None
        another = await open_socket()
        assert (await another.frame())["type"] == "snapshot"

    async def test_a_socket_whose_writer_fails_is_closed_and_not_left_waiting(
        self, source: Source, open_socket: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def fail(line: broadcast.SocketQueue, broadcaster: broadcast.Broadcaster) -> str:
            raise ZeroDivisionError

        monkeypatch.setattr(broadcast.SocketQueue, "take", fail)
        with caplog.at_level(logging.CRITICAL):
            assert await (await open_socket()).closed() == broadcast.FAILED


class TestCheck:
    @pytest.fixture(autouse=True)
    def _at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(broadcast, "CHECK_SECONDS", 0.5)

    async def test_leaves_those_alone_whose_rights_stay(self, source: Source, open_socket: Open) -> None:
        socket = await open_socket()
        await socket.frame()
        await socket.frames_of(1.2)
        source.move()
        assert is_delta(await socket.frame())

    async def test_closes_a_socket_whose_session_has_ended(self, source: Source, open_socket: Open) -> None:
        socket = await open_socket()
        source.audience = None
        assert await socket.closed() == broadcast.REFUSED

    async def test_closes_a_socket_whose_rights_have_changed(self, source: Source, open_socket: Open) -> None:
        socket = await open_socket()
        source.audience = Audience(frozenset({"engines"}), "en")
        assert await socket.closed() == broadcast.CHANGED

    async def test_says_nothing_new_until_it_could_be_made(self, source: Source, open_socket: Open) -> None:
        socket = await open_socket()
        await socket.frame()
        source.refusal = OperationalError("gone")
        await socket.frames_of(0.8)
        source.move()
        assert await socket.frames_of(0.8) == []
        source.refusal = None
        assert is_delta(await socket.frame())


def test_rights_are_asked_for_again_within_a_minute() -> None:
    assert broadcast.CHECK_SECONDS + 2 * broadcast.BEAT_SECONDS < 60
