"""The socket over the whole application and the database, as a page opens it."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.sessions.models import Session
from django.db import OperationalError
from django.test import Client

from config.dashboard.live import broadcast
from config.dashboard.live import consumer as consuming
from config.dashboard.live.broadcast import broadcaster
from config.dashboard.live.watched_rows import MOST_ROWS
from notifications.services.alerts import acknowledge_alert, raise_alert
from processes.exchange.models import ExchangeProcess
from tests.config.dashboard.live.conftest import Open
from tests.config.dashboard.live.records import make_process, move
from tests.config.dashboard.live.socket import Socket

pytestmark = [pytest.mark.embedded, pytest.mark.django_db(transaction=True)]
Status = ExchangeProcess.Status


def session_of(name: str, **columns: Any) -> str:
    person = User.objects.create_user(name, **columns)
    client = Client()
    client.force_login(person)
    return str(client.cookies["sessionid"].value)


@pytest.fixture
def admin(transactional_db: None) -> str:
    return session_of("olga", is_staff=True, is_superuser=True)


@pytest.fixture
def process(transactional_db: None) -> ExchangeProcess:
    return make_process()


class TestDashboardConsumer:
    async def test_shows_a_process_on_its_way(self, admin: str, process: ExchangeProcess, open_socket: Open) -> None:
        socket = await open_socket(admin)
        snapshot = await socket.frame()
        assert [row["status"] for row in snapshot["processes"]] == ["STARTED"]
        assert {"type", "at", "processes", "sensors", "deliveries", "alerts", "engines"} <= set(snapshot)
        seen = []
        for status in (Status.READY_TO_COMMIT, Status.CLEANUP, Status.DONE):
            await broadcaster.in_thread(move, process, status)
            frame = await socket.frame_with(lambda frame: bool(frame["processes"]))
            seen.append((frame["type"], frame["processes"][0]["id"], frame["processes"][0]["status"]))
        assert seen == [("delta", str(process.pk), status) for status in ("READY_TO_COMMIT", "CLEANUP", "DONE")]

    async def test_shows_those_without_the_permission_no_processes(
        self, process: ExchangeProcess, open_socket: Open
    ) -> None:
        socket = await open_socket(await broadcaster.in_thread(lambda: session_of("ivan", is_staff=True)))
        snapshot = await socket.frame()
        assert snapshot["engines"]["database"] == "ok"
        assert [snapshot[part] for part in ("processes", "sensors", "deliveries", "alerts")] == [[], {}, {}, []]
        await broadcaster.in_thread(move, process, Status.TIMED_OUT)
        assert await socket.frames_of(1.0) == []

    async def test_is_closed_to_the_signed_out(self, transactional_db: None) -> None:
        assert await Socket().open() == "websocket.close"

    async def test_is_closed_to_those_who_are_not_staff(self, transactional_db: None) -> None:
        session = await broadcaster.in_thread(lambda: session_of("vasya"))
        assert await Socket(session).open() == "websocket.close"
        assert not broadcaster.is_running

    @pytest.mark.parametrize(
        "origin",
        [
            "http://example.org",
            "http://127.0.0.1.example.org",
            "http://127.0.0.1",
            "http://127.0.0.1:9000",
            "https://127.0.0.1:8000",
            "http://localhost:8000",
            "http://127.0.0.1:99999",
            "null",
            None,
        ],
    )
    async def test_is_closed_to_pages_from_elsewhere(self, admin: str, origin: str | None) -> None:
        assert await Socket(admin, origin=origin).open() == "websocket.close"

    async def test_is_closed_while_the_database_is_away(self, admin: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(ticket: object) -> None:
            raise OperationalError("gone")

        monkeypatch.setattr(consuming, "admit", fail)
        assert await Socket(admin).open() == "websocket.close"

    async def test_is_closed_when_the_session_ends(
        self, admin: str, open_socket: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(broadcast, "CHECK_SECONDS", 0.3)
        socket = await open_socket(admin)
        await socket.frame()
        await broadcaster.in_thread(Session.objects.all().delete)
        assert await socket.closed() == broadcast.REFUSED

    async def test_is_closed_when_a_permission_is_withdrawn(
        self, transactional_db: None, open_socket: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(broadcast, "CHECK_SECONDS", 0.3)
        socket = await open_socket(await broadcaster.in_thread(_permitted))
        await socket.frame()
        await broadcaster.in_thread(User.user_permissions.through.objects.all().delete)
        assert await socket.closed() == broadcast.CHANGED


MANY = "watch=sensors.sensor&rows=" + ",".join(str(number) for number in range(MOST_ROWS + 2))


class TestWatchedRows:
    async def test_a_page_is_told_that_its_row_has_changed_and_nothing_else(
        self, admin: str, open_socket: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(broadcast, "LOOK_SECONDS", 0.1)
        mine, other = await broadcaster.in_thread(lambda: [raise_alert("k", each, "A thing") for each in "ab"])
        socket = await open_socket(admin, query=f"watch=notifications.alert&rows={mine}")
        first = await socket.frame()
        assert (first["type"], first["zone"], first["words"]["live"]) == ("watching", "UTC", "live")
        # At once: what happens after the page was told to fetch itself is a change.
        await broadcaster.in_thread(acknowledge_alert, mine, "staff:olga")
        frame = await socket.frame()
        assert (frame["type"], frame["rows"]) == ("touched", [str(mine)])
        await broadcaster.in_thread(acknowledge_alert, other, "staff:olga")
        assert await socket.frames_of(0.6) == []

    async def test_a_list_is_told_of_a_new_row(
        self, admin: str, open_socket: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(broadcast, "LOOK_SECONDS", 0.1)
        socket = await open_socket(admin, query="watch=notifications.alert&rows=")
        await socket.frame()
        await broadcaster.in_thread(raise_alert, "k", "new", "A thing")
        assert (await socket.frame())["rows"] == [""]

    @pytest.mark.parametrize("query", ["watch=auth.user&rows=1", MANY])
    async def test_is_closed_to_those_who_ask_for_what_is_not_watched(self, admin: str, query: str) -> None:
        assert await Socket(admin, query=query).open() == "websocket.close"

    async def test_is_closed_to_those_without_the_permission(self, transactional_db: None, open_socket: Open) -> None:
        session = await broadcaster.in_thread(_permitted)
        refused = Socket(session, query="watch=sensors.sensor&rows=0xA")
        assert await refused.open() == "websocket.close"
        await refused.leave()
        await open_socket(session, query="watch=exchange.exchangeprocess&rows=")


def _permitted() -> str:
    session = session_of("ivan", is_staff=True)
    User.objects.get().user_permissions.add(Permission.objects.get(codename="view_exchangeprocess"))
    return session
