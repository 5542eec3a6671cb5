import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from structlog.testing import capture_logs

from config.runtime import health
from config.runtime.health import _Check, _States, engine_states
from tests.conftest import ServerAddresses
from tests.faults.silent_servers import SilentServer

answer: Callable[[], None] = lambda: None  # noqa: E731  (each test puts its own here)


def check() -> None:
    answer()


@pytest.fixture
def reply(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    return lambda function: monkeypatch.setattr(sys.modules[__name__], "answer", function)


@pytest.fixture
def states(monkeypatch: pytest.MonkeyPatch) -> _States:
    monkeypatch.setattr(health, "FRESH_SECONDS", 0.0)
    return _States((_Check("engine", lambda: True, f"{__name__}.check"),))


def fail() -> None:
    raise OSError("gone")


@pytest.mark.embedded
class TestStates:
    def test_an_engine_that_answers_is_ok(self, states: _States) -> None:
        assert states.get() == {"engine": "ok"}

    def test_an_engine_that_fails_is_down(self, states: _States, reply: Any) -> None:
        reply(fail)
        assert states.get() == {"engine": "down"}

    def test_an_engine_that_is_not_configured_is_off(self) -> None:
        assert _States((_Check("engine", lambda: False, "no.such.module"),)).get() == {"engine": "off"}

    def test_a_check_that_hangs_is_down_in_time_and_gets_no_second_one_beside_it(
        self, states: _States, reply: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(health, "PATIENCE_SECONDS", 0.1)
        go_on, begun = threading.Event(), list[int]()

        def hang() -> None:
            begun.append(1)
            go_on.wait(60)

        reply(hang)
        began = time.monotonic()
        assert [states.get()["engine"] for _ in range(3)] == ["down"] * 3
        assert time.monotonic() - began < 30
        assert len(begun) == 1
        go_on.set()

    def test_many_callers_share_one_check(self, reply: Any, in_threads: Any) -> None:
        begun: list[int] = []

        def linger() -> None:
            begun.append(1)
            time.sleep(0.1)

        reply(linger)
        states = _States((_Check("engine", lambda: True, f"{__name__}.check"),))
        assert in_threads(lambda number: states.get()["engine"], 8) == ["ok"] * 8
        assert len(begun) == 1

    def test_only_a_change_is_logged(self, states: _States, reply: Any) -> None:
        with capture_logs() as logs:
            states.get()
            reply(fail)
            states.get()
            states.get()
            reply(lambda: None)
            states.get()
        assert [line["event"] for line in logs] == ["engine.down", "engine.up"]


@pytest.mark.django_db(transaction=True)
class TestEngineStates:
    @pytest.fixture(autouse=True)
    def _fresh(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(health._states, "_stale_at", 0.0)
        monkeypatch.setattr(health, "PATIENCE_SECONDS", 60.0)  # a busy machine may take its time

    @pytest.mark.embedded
    def test_the_embedded_profile_has_a_database_and_nothing_else(self) -> None:
        assert engine_states() == {"database": "ok", "amqp": "off", "redis": "off", "clickhouse": "off"}

    def test_all_engines_answer(self, servers: ServerAddresses, settings: Any) -> None:
        settings.AMQP_URL, settings.REDIS_URL = servers.amqp, servers.redis
        settings.CLICKHOUSE_URL = servers.clickhouse
        assert set(engine_states().values()) == {"ok"}

    @pytest.mark.embedded
    def test_three_mute_engines_are_asked_side_by_side(self, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(health, "PATIENCE_SECONDS", 3.0)
        with SilentServer() as mute:
            settings.AMQP_URL = f"amqp://guest:guest@127.0.0.1:{mute.port}/%2F"
            settings.REDIS_URL = f"redis://127.0.0.1:{mute.port}/0"
            settings.CLICKHOUSE_URL = f"clickhouse://127.0.0.1:{mute.port}/default"
            began = time.monotonic()
            assert engine_states() == {"database": "ok", "amqp": "down", "redis": "down", "clickhouse": "down"}
            assert time.monotonic() - began < 8


@pytest.mark.django_db
def test_a_mute_database_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL alone can be mute: SQLite is no server."""
    monkeypatch.setattr(health, "FRESH_SECONDS", 0.0)
    with SilentServer() as mute:
        monkeypatch.setitem(connection.settings_dict, "PORT", str(mute.port))
        began = time.monotonic()
        assert engine_states()["database"] == "down"
        assert time.monotonic() - began < 20
