"""The stores that every test of the contract runs against."""

import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from clickhouse_driver import Client

from sensors.history import store as store_module
from sensors.history.clickhouse import TABLES, ClickHouseStore
from sensors.history.database import DatabaseStore
from sensors.history.store import HistoryStore, close_stores
from tests.sensors.history.embedded_clickhouse import EmbeddedClient

STORES = [
    pytest.param("database", marks=pytest.mark.embedded),
    "clickhouse",
    "newest_clickhouse",
]


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest) -> HistoryStore:
    """Each store in turn, empty."""
    chosen: HistoryStore = request.getfixturevalue(f"{request.param}_store")
    return chosen


@pytest.fixture
def database_store(db: None) -> DatabaseStore:
    return DatabaseStore()


@pytest.fixture(scope="session")
def clickhouse_database(servers: Any) -> Iterator[str]:
    """The address of a database of this run alone on the real server."""
    name = f"history_{uuid.uuid4().hex}"
    with Client.from_url(servers.clickhouse) as client:
        client.execute(f"CREATE DATABASE {name}")
        yield urlsplit(servers.clickhouse)._replace(path=f"/{name}").geturl()
        client.execute(f"DROP DATABASE {name}")


@pytest.fixture
def clickhouse_url(clickhouse_database: str, settings: Any) -> Iterator[str]:
    """Make ClickHouse, empty, the engine of history for one test."""
    settings.CLICKHOUSE_URL = clickhouse_database
    with Client.from_url(clickhouse_database) as client:
        for table in TABLES:
            client.execute(f"DROP TABLE IF EXISTS {table}")
    yield clickhouse_database
    close_stores()


@pytest.fixture
def clickhouse_store(clickhouse_url: str, db: None) -> ClickHouseStore:
    chosen = store_module.get_store()
    assert isinstance(chosen, ClickHouseStore)
    return chosen


@pytest.fixture(scope="session")
def newest_session() -> Iterator[Any]:
    chdb_session = pytest.importorskip("chdb.session", reason="chdb-core is not installed")
    session = chdb_session.Session()
    session.query("CREATE DATABASE history")
    session.query("USE history")
    yield session
    session.close()


@pytest.fixture
def newest_clickhouse_store(newest_session: Any) -> ClickHouseStore:
    for table in TABLES:
        newest_session.query(f"DROP TABLE IF EXISTS {table}")
    return ClickHouseStore(connect=lambda: EmbeddedClient(newest_session))
