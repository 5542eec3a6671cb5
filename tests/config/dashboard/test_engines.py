from collections.abc import Callable

import pytest
from django.db import connection

from config.dashboard import engines
from config.dashboard.engines import EngineTile, engine_tiles, profile
from config.runtime.alerts.storage import CANNOT_WRITE, FAILED, LITTLE_ROOM, LOW, Finding
from notifications.services.alerts import close_alert, raise_alert


def states(**given: str) -> Callable[[], dict[str, str]]:
    return lambda: {"database": "ok", "amqp": "off", "redis": "off", "clickhouse": "off", **given}


def disk() -> EngineTile:
    return engine_tiles()[-1]


@pytest.mark.django_db
class TestEngineTiles:
    def test_a_missing_engine_names_what_stands_in_for_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(engines, "engine_states", states())
        tiles = {tile.name: tile for tile in engine_tiles()}
        assert tiles["ClickHouse"].detail == "embedded: history in the database"
        assert tiles["ClickHouse"].words == "Not configured"

    def test_an_engine_that_is_down_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(engines, "engine_states", states(amqp="down"))
        tile = next(tile for tile in engine_tiles() if tile.name == "RabbitMQ")
        assert (tile.state, tile.words) == ("down", "Down")

    def test_the_database_is_called_by_its_name(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(engines, "engine_states", states())
        assert engine_tiles()[0].name == {"postgresql": "PostgreSQL", "sqlite": "SQLite"}[connection.vendor]

    def test_the_disk_tells_what_was_raised_or_else_what_is_seen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        room = {"path": "/data", "node": "n1", "free": 3, "names": 9}
        full = {"path": "/data", "node": "n1", "reason": "No space left on device", "errno": 28}
        seen = [Finding(LOW, "disk/n1", LITTLE_ROOM, room)]
        monkeypatch.setattr(engines, "read_storage_findings", lambda: seen)
        raise_alert(FAILED, "disk/n1", CANNOT_WRITE, full)
        assert (disk().state, disk().words) == ("down", "Not writable")
        assert disk().detail == "The disk of /data on n1 is not writable: No space left on device (errno 28)"
        close_alert(FAILED, "disk/n1")
        assert disk().words == "Low on space"
        seen.clear()
        assert (disk().state, disk().words) == ("ok", "Up")


class TestProfile:
    @pytest.mark.parametrize(
        ("vendor", "url", "name"),
        [("sqlite", None, "Embedded profile"), ("sqlite", "x", "Partly embedded"), ("postgresql", "x", "Full profile")],
    )
    def test_is_named_by_what_is_configured(
        self, monkeypatch: pytest.MonkeyPatch, settings: object, vendor: str, url: str | None, name: str
    ) -> None:
        monkeypatch.setattr(connection, "vendor", vendor, raising=False)
        for variable in ("AMQP_URL", "REDIS_URL", "CLICKHOUSE_URL"):
            setattr(settings, variable, url)
        assert profile() == name
