"""A reader's database is mute, or falls silent later: nobody waits for it for long, and the rest is shown."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from django.db import connections

from config.engines.postgresql import limit_silence
from processes.coordination.gateway import readers
from processes.coordination.gateway.readers import most_waiting
from tests.faults.silent_servers import Proxy, SilentServer
from tests.processes.coordination.in_memory_roles import DATABASES, InMemoryRoles, make_change_set, request_change
from tests.sensors.api.callers import Caller, service
from tests.servers.private_server import HOST
from tests.staff import signed_in

PATIENCE = 4.0
"""One time-out of 1.5 s, on a busy machine."""
OTHER = "reader_other"
pytestmark = pytest.mark.django_db(databases=[*DATABASES, OTHER], transaction=True)
ROWS = "/coordination/reader/dummy-items/"
OF_OTHER = f"{ROWS}?reader=other"


@pytest.fixture(scope="module", autouse=True)
def other_reader(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """Configure one more reader beside the first, with the same tables: for what a test does with it alone."""
    connections.settings[OTHER] = deepcopy(connections["reader_main"].settings_dict)
    yield
    with django_db_blocker.unblock():
        forget_connections()
    del connections.settings[OTHER]


@contextmanager
def reader_with(**changes: Any) -> Iterator[None]:
    """Change the settings of the other reader; everything is as it was before the tables are emptied."""
    before = dict(connections.settings[OTHER])
    forget_connections()
    connections.settings[OTHER].update(changes)
    close_breaker()
    yield
    forget_connections()
    connections.settings[OTHER].update(before)


def close_breaker() -> None:
    readers._breakers.clear()
    # Of its own length it would be over before the next line of a test, on a busy machine.
    readers._breaker(OTHER)._rest_seconds = 600.0


def forget_connections() -> None:
    database: Any = connections[OTHER]
    database.close()
    if database.vendor == "postgresql":
        database.close_pool()
    del connections[OTHER]
    readers._breakers.clear()


@pytest.fixture
def mute(transactional_db: None) -> Iterator[SilentServer]:
    with SilentServer() as server, reader_with(HOST=HOST, PORT=str(server.port)):
        yield server


@pytest.fixture
def standing(call: Caller) -> Iterator[Proxy]:
    """The way to a reader that has answered, over a connection that is kept."""
    real = connections["reader_main"].settings_dict
    with Proxy(int(real["PORT"])) as proxy, reader_with(HOST=HOST, PORT=str(proxy.port)):
        assert call("GET", OF_OTHER).status_code == 200
        yield proxy


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Lists the calls that are let through to a reader's database, and so may wait for it."""
    found: list[str] = []

    def limit(alias: str, seconds: float) -> AbstractContextManager[None]:
        found.append(alias)
        return limit_silence(alias, seconds)

    monkeypatch.setattr(readers, "limit_silence", limit)
    return found


@pytest.fixture
def call(transactional_db: None) -> Caller:
    return service("coordination")


def timed(call: Caller, path: str) -> tuple[float, Any]:
    began = time.monotonic()
    answer = call("GET", path)
    return time.monotonic() - began, answer


def assert_away(answer: Any) -> None:
    assert (answer.status_code, answer.json()["code"]) == (503, "reader_away")
    assert answer.json()["data"] == {"reader": "other"}
    assert answer.headers["Retry-After"] == "5"


@pytest.mark.slow
class TestMuteAtConnect:
    def test_the_first_waits_for_a_moment_and_the_next_not_at_all(
        self, mute: SilentServer, call: Caller, asked: list[str]
    ) -> None:
        took, answer = timed(call, OF_OTHER)
        assert took < PATIENCE
        assert_away(answer)
        for path in (OF_OTHER, f"{ROWS}1/?reader=other", f"{OF_OTHER}&wait=1"):
            assert_away(call("GET", path))
        assert asked == [OTHER]
        assert call("GET", ROWS).status_code == 200, "the other reader is well"

    def test_a_change_set_is_shown_without_its_steps(self, mute: SilentServer, call: Caller, asked: list[str]) -> None:
        event = make_change_set(request_change("DummyItem", "insert", name="x")).event
        InMemoryRoles("main", "other").rest_without_reader()
        took, answer = timed(call, f"/coordination/events/{event}/")
        assert took < PATIENCE
        assert [reader["name"] for reader in answer.json()["readers"]] == ["main", "other"]
        assert answer.json()["steps"]
        assert call("GET", f"/coordination/events/{event}/").json()["steps"]
        assert asked.count(OTHER) == 1

    def test_its_page_says_what_is_missing(self, mute: SilentServer, call: Caller) -> None:
        event = make_change_set(request_change("DummyItem", "insert", name="my own item")).event
        began = time.monotonic()
        page = signed_in("viewer").get(f"/admin/coordination/appevent/{event}/change/").content.decode()
        assert time.monotonic() - began < PATIENCE + 2
        assert "The database of reader other does not answer at the moment" in page
        assert "reader main does not" not in page


@pytest.mark.slow
class TestSilentLater:
    def test_the_first_waits_for_a_moment_and_the_next_not_at_all(
        self, standing: Proxy, call: Caller, asked: list[str]
    ) -> None:
        standing.fall_silent()
        took, answer = timed(call, OF_OTHER)
        assert took < PATIENCE
        assert_away(answer)
        assert_away(call("GET", OF_OTHER))
        assert asked == [OTHER]

    def test_whoever_waits_for_a_change_set_is_told(self, standing: Proxy, call: Caller) -> None:
        event = make_change_set(request_change("DummyItem", "insert", name="x")).event
        standing.fall_silent()
        took, answer = timed(call, f"{OF_OTHER}&wait={event}")
        assert took < PATIENCE
        assert_away(answer)

    def test_is_asked_again_after_a_rest_and_used_when_it_is_back(self, standing: Proxy, call: Caller) -> None:
        standing.fall_silent()
        call("GET", OF_OTHER)
        standing._is_silent.clear()
        readers._breakers[OTHER]._resting_until = 0.0
        assert call("GET", OF_OTHER).status_code == 200

    def test_a_statement_of_a_role_may_work_for_longer(self, standing: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(readers, "ANSWER_SECONDS", 0.2)
        with readers.ask_reader(OTHER):
            pass
        with connections[OTHER].cursor() as cursor:
            cursor.execute("SELECT pg_sleep(0.5)")
            assert len(cursor.fetchall()) == 1


@pytest.mark.slow
class TestFortyAtOnce:
    def test_a_quarter_of_the_slots_stays_free(
        self,
        mute: SilentServer,
        asked: list[str],
        in_threads: Callable[..., list[tuple[float, Any]]],
        settings: Any,
    ) -> None:
        settings.WEB_CONCURRENCY = 16
        close_breaker()
        desk = service("coordination")
        found = in_threads(lambda _: timed(desk, OF_OTHER), 40)
        assert max(took for took, _ in found) < 3 * PATIENCE, "forty calls at once on a busy machine"
        assert 1 <= len(asked) <= most_waiting(16) == 12
        assert {(answer.status_code, answer.json()["code"]) for _, answer in found} <= {
            (503, "reader_away"),
            (503, "busy"),
        }


@pytest.mark.embedded
def test_one_whose_file_cannot_be_opened_is_away_too(call: Caller, tmp_path: Path) -> None:
    with reader_with(ENGINE="config.engines.sqlite", NAME=tmp_path / "gone" / "reader.sqlite3", OPTIONS={}):
        assert_away(call("GET", OF_OTHER))
        assert_away(call("GET", OF_OTHER))
