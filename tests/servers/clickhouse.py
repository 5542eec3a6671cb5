"""A private ClickHouse server."""

import socket

from tests.servers.packages import get_program
from tests.servers.private_server import HOST, PrivateServer

HELLO = 0
REVISION = 54058
CONFIGURATION = """<?xml version="1.0"?>
<yandex>
    <logger>
        <level>warning</level>
        <log>{folder}/clickhouse.log</log>
        <errorlog>{folder}/errors.log</errorlog>
    </logger>
    <listen_host>{host}</listen_host>
    <tcp_port>{port}</tcp_port>
    <path>{folder}/data/</path>
    <tmp_path>{folder}/tmp/</tmp_path>
    <user_files_path>{folder}/files/</user_files_path>
    <format_schema_path>{folder}/schemas/</format_schema_path>
    <users_config>{folder}/users.xml</users_config>
    <default_profile>default</default_profile>
    <default_database>default</default_database>
    <timezone>UTC</timezone>
    <mark_cache_size>67108864</mark_cache_size>
    <uncompressed_cache_size>0</uncompressed_cache_size>
    <max_concurrent_queries>100</max_concurrent_queries>
</yandex>
"""
USERS = """<?xml version="1.0"?>
<yandex>
    <profiles>
        <default>
            <max_memory_usage>2000000000</max_memory_usage>
            <max_threads>2</max_threads>
            <background_pool_size>4</background_pool_size>
        </default>
    </profiles>
    <users>
        <default>
            <password></password>
            <networks><ip>127.0.0.1</ip></networks>
            <profile>default</profile>
            <quota>default</quota>
        </default>
    </users>
    <quotas><default></default></quotas>
</yandex>
"""


class ClickHouseServer(PrivateServer):
    """ClickHouse with the native protocol alone and small caches."""

    name = "clickhouse"

    @property
    def url(self) -> str:
        """Give the address that clients connect to."""
        return f"clickhouse://default@{HOST}:{self.port}/default"

    def _prepare(self) -> None:
        for name in ("data", "tmp", "files", "schemas"):
            (self.folder / name).mkdir()
        configuration = CONFIGURATION.format(folder=self.folder, host=HOST, port=self.port)
        (self.folder / "config.xml").write_text(configuration)
        (self.folder / "users.xml").write_text(USERS)

    def _command(self) -> list[str]:
        return [get_program("clickhouse-server"), f"--config-file={self.folder}/config.xml"]

    def _greets(self, connection: socket.socket) -> bool:
        client = _text("postern") + bytes([1, 1]) + _number(REVISION)
        database, user, password = _text("default"), _text("default"), _text("")
        connection.sendall(bytes([HELLO]) + client + database + user + password)
        return connection.recv(64).startswith(bytes([HELLO]) + _text("ClickHouse"))


def _number(value: int) -> bytes:
    """Encode as the protocol does: seven bits a byte, the lowest first."""
    low, rest = value & 0x7F, value >> 7
    return bytes([low | 0x80]) + _number(rest) if rest else bytes([low])


def _text(value: str) -> bytes:
    return _number(len(value.encode())) + value.encode()
