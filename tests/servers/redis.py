"""A private Redis server."""

import socket

from tests.servers.packages import get_program
from tests.servers.private_server import HOST, PrivateServer


class RedisServer(PrivateServer):
    """Redis that keeps nothing on disk: it comes back empty after a stop."""

    name = "redis"

    @property
    def url(self) -> str:
        """Give the address that clients connect to."""
        return f"redis://{HOST}:{self.port}/0"

    def _command(self) -> list[str]:
        place = ["--bind", HOST, "--port", str(self.port), "--dir", str(self.folder)]
        return [get_program("redis-server"), *place, "--save", "", "--appendonly", "no"]

    def _greets(self, connection: socket.socket) -> bool:
        connection.sendall(b"PING\r\n")
        return connection.recv(64).startswith(b"+PONG")
