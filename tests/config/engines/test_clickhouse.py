from typing import Any

import pytest

from config.engines.clickhouse import connect


@pytest.fixture
def client(servers: Any, settings: Any) -> Any:
    settings.CLICKHOUSE_URL = servers.clickhouse
    client = connect()
    client.execute("SELECT 1")
    yield client
    client.disconnect()


class TestConnect:
    def test_before_a_query_the_socket_is_asked_and_not_the_server(self, client: Any) -> None:
        sent = client.connection.fout
        client.connection.fout = None  # whoever writes now fails
        assert client.connection.ping()
        client.connection.fout = sent

    def test_a_connection_that_the_server_has_closed_is_found_and_made_again(self, client: Any) -> None:
        client.connection.socket.shutdown(2)
        assert client.execute("SELECT 2") == [(2,)]
