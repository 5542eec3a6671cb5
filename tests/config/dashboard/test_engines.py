from collections.abc import Callable

import pytest
from django.db import connection

from config.dashboard import engines
from config.dashboard.engines import engine_tiles, profile


def states(**given: str) -> Callable[[], dict[str, str]]:
    return lambda: {"database": "ok", "amqp": "off", "redis": "off", "clickhouse": "off", **given}


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
