"""Each engine's `connect` and `health`, against a real server, one that is gone and one that is mute."""

import time
from typing import Any

import pytest
from django.db import connection
from pika.exceptions import AMQPError

from config.engines import amqp, clickhouse, postgresql, redis
from tests.conftest import ServerAddresses
from tests.faults.silent_servers import SilentServer
from tests.servers.private_server import find_free_port

ENGINES = {
    "AMQP_URL": (amqp, "amqp://guest:guest@127.0.0.1:{}/%2F"),
    "REDIS_URL": (redis, "redis://127.0.0.1:{}/0"),
    "CLICKHOUSE_URL": (clickhouse, "clickhouse://default@127.0.0.1:{}/default"),
}
each_engine = pytest.mark.parametrize(("variable", "engine", "url"), [(name, *row) for name, row in ENGINES.items()])


@each_engine
class TestHealth:
    def test_passes_when_the_server_answers(
        self, variable: str, engine: Any, url: str, servers: ServerAddresses, settings: Any
    ) -> None:
        setattr(settings, variable, getattr(servers, variable.removesuffix("_URL").lower()))
        assert engine.health() is None

    def test_raises_when_nobody_listens(self, variable: str, engine: Any, url: str, settings: Any) -> None:
        setattr(settings, variable, url.format(find_free_port()))
        with pytest.raises(Exception):  # noqa: B017, PT011  (each client has an error of its own)
            engine.health()

    def test_raises_soon_when_the_server_is_mute(self, variable: str, engine: Any, url: str, settings: Any) -> None:
        with SilentServer() as mute:
            setattr(settings, variable, url.format(mute.port))
            began = time.monotonic()
            with pytest.raises(Exception):  # noqa: B017, PT011
                engine.health()
            assert time.monotonic() - began < 8  # a second, where the machine is idle; ten and more without its bound


class TestConnect:
    def test_clickhouse_answers_a_query(self, servers: ServerAddresses, settings: Any) -> None:
        settings.CLICKHOUSE_URL = servers.clickhouse
        client = clickhouse.connect()
        assert client.execute("SELECT 1 + 1") == [(2,)]
        client.disconnect()

    def test_clickhouse_takes_time_outs_from_the_url(self, settings: Any) -> None:
        settings.CLICKHOUSE_URL = "clickhouse://127.0.0.1/default?send_receive_timeout=77"
        assert clickhouse.connect().connection.send_receive_timeout == 77

    def test_redis_keeps_a_value(self, servers: ServerAddresses, settings: Any) -> None:
        settings.REDIS_URL = servers.redis
        with redis.connect() as client:
            client.set("test.engines", "kept", ex=10)
            assert client.get("test.engines") == b"kept"

    @pytest.mark.embedded
    def test_a_mute_broker_is_an_error_of_amqp_as_one_that_is_gone(self, settings: Any) -> None:
        with SilentServer() as mute:
            settings.AMQP_URL = f"amqp://guest:guest@127.0.0.1:{mute.port}/%2F"
            with pytest.raises(AMQPError, match="Timeout"):
                amqp.connect(seconds=0.1)

    def test_amqp_opens_a_channel(self, servers: ServerAddresses, settings: Any) -> None:
        settings.AMQP_URL = servers.amqp
        own = amqp.connect()
        assert own.channel().is_open
        own.close()

    @pytest.mark.django_db(transaction=True)
    def test_postgresql_is_a_connection_outside_of_the_pool_in_autocommit_mode(self) -> None:
        if connection.vendor != "postgresql":
            pytest.skip("about PostgreSQL")
        with connection.cursor() as cursor, postgresql.connect() as own:
            cursor.execute("SELECT pg_backend_pid(), current_database()")
            row = own.execute("SELECT pg_backend_pid(), current_database()").fetchone()
            process, name = cursor.fetchone()
            assert row is not None
            assert (row[0] != process, row[1] == name, own.autocommit) == (True, True, True)
