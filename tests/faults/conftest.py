"""Servers that the faults of this folder may stop: nobody else in the run uses them."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.servers.clickhouse import ClickHouseServer
from tests.servers.postgres import PostgresServer
from tests.servers.private_server import PrivateServer
from tests.servers.rabbitmq import RabbitMQServer
from tests.servers.redis import RedisServer


@pytest.fixture(scope="session")
def engines() -> Iterator[dict[str, PrivateServer]]:
    """The four servers, under the names that `/readyz` has for them; all tests that use them are one xdist group."""
    servers: dict[str, PrivateServer] = {
        "database": PostgresServer(fsync=False),
        "amqp": RabbitMQServer(),
        "redis": RedisServer(),
        "clickhouse": ClickHouseServer(),
    }
    try:
        with ThreadPoolExecutor() as threads:
            list(threads.map(lambda server: server.start(), servers.values()))
        yield servers
    finally:
        for server in servers.values():
            server.close()
