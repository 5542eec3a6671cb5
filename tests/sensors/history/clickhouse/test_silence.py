"""ClickHouse accepts connections and says nothing: nobody waits for it for longer than a moment."""

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sensors.history.errors import HistoryAway
from sensors.history.store import close_stores, get_store
from sensors.history.values import Period
from tests.faults.silent_servers import SilentServer
from tests.sensors.api.callers import service
from tests.sensors.registry import make_sensor
from tests.staff import signed_in

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE = 4.0
"""One time-out of 1.5 s, on a busy machine."""


@pytest.fixture
def mute(settings: Any) -> Iterator[SilentServer]:
    with SilentServer() as server:
        settings.CLICKHOUSE_URL = f"clickhouse://default@127.0.0.1:{server.port}/default"
        close_stores()
        # Of its own length it would be over before the next line of a test, on a busy machine.
        guard: Any = get_store()._guard  # type: ignore[attr-defined]
        guard._rest_seconds = 600.0
        yield server
        close_stores()


def read() -> float:
    """Read a signal that cannot be had; return how long that took."""
    began = time.monotonic()
    with pytest.raises(HistoryAway):
        get_store().read_signals(["0xA"], Period(), limit=1)
    return time.monotonic() - began


def test_the_first_waits_for_a_moment_and_the_next_not_at_all(mute: SilentServer) -> None:
    assert read() < PATIENCE
    read()
    assert mute.connections == 1


def test_of_forty_at_once_only_half_of_the_slots_wait(
    mute: SilentServer, in_threads: Callable[..., list[float]], settings: Any
) -> None:
    assert settings.WEB_CONCURRENCY == 32
    took = in_threads(lambda number: read(), 40)
    assert max(took) < 3 * PATIENCE, "forty calls at once on a busy machine"
    assert 1 <= mute.connections <= 16


def test_the_page_of_a_sensor_shows_the_rest_with_a_word_about_the_chart(mute: SilentServer) -> None:
    make_sensor(address="Gate 7")
    began = time.monotonic()
    page = signed_in("viewer").get("/admin/sensors/sensor/0xA/change/").content.decode()
    assert time.monotonic() - began < PATIENCE + 2
    assert "Gate 7" in page
    assert "History is not available at the moment" in page


def test_a_call_is_told_so_at_once(mute: SilentServer) -> None:
    make_sensor()
    desk = service("history:read")
    read()
    assert mute.connections == 1
    for path in ("/sensors/0xA/history/", "/sensors/0xA/history/?changes=true&format=csv", "/sensors/0xA/events/"):
        answer = desk("GET", path)
        assert (answer.status_code, answer.json()["code"]) == (503, "history_away")
        assert answer.headers["Retry-After"] == "5"
    assert mute.connections == 1


def test_is_asked_again_after_a_rest_and_used_when_it_is_back(
    mute: SilentServer, settings: Any, servers: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    read()
    store = get_store()
    settings.CLICKHOUSE_URL = servers.clickhouse
    guard: Any = store._guard  # type: ignore[attr-defined]
    guard._resting_until = 0.0
    assert store.read_signals(["nobody"], Period(), limit=1) == []
