"""A private RabbitMQ server."""

import json
import socket
from collections.abc import Sequence
from pathlib import Path

from tests.servers.packages import get_program
from tests.servers.private_server import HOST, PrivateServer, find_free_port

PROTOCOL_HEADER = b"AMQP\x00\x00\x09\x01"
# A method frame on channel 0: Connection.Start follows.
START_FRAME = b"\x01\x00\x00"
CONFIGURATION = """
disk_free_limit.absolute = 50MB
log.console = false
log.file.level = info
"""
DEFAULT = "/"
VIRTUAL_HOSTS_VARIABLE = "TEST_AMQP_VIRTUAL_HOSTS"


class RabbitMQServer(PrivateServer):
    """RabbitMQ with a node, a cookie and a port mapper (epmd) of its own, and no plugin.

    Beside the default virtual host it has those that are named: queues of the same name in two of them are two queues.
    """

    name = "rabbitmq"

    def __init__(self, folder: Path | None = None, *, virtual_hosts: Sequence[str] = ()) -> None:
        super().__init__(folder)
        self.virtual_hosts = tuple(virtual_hosts)
        self._distribution_port = find_free_port()
        self._mapper_port = find_free_port()

    @property
    def url(self) -> str:
        """Give the address that clients connect to."""
        return f"amqp://guest:guest@{HOST}:{self.port}/%2F"

    def _prepare(self) -> None:
        configuration = CONFIGURATION
        if self.virtual_hosts:
            (self.folder / "definitions.json").write_text(_definitions(self.virtual_hosts))
            configuration += f"load_definitions = {self.folder}/definitions.json\n"
        (self.folder / "rabbitmq.conf").write_text(configuration)
        (self.folder / "enabled_plugins").write_text("[].\n")

    def _command(self) -> list[str]:
        # Not the wrapper in /usr/sbin, which changes the user and the folder.
        return [get_program("/usr/lib/rabbitmq/bin/rabbitmq-server", "rabbitmq-server")]

    def _environment(self) -> dict[str, str]:
        return super()._environment() | {
            "RABBITMQ_NODENAME": "postern@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": HOST,
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self._distribution_port),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": str(self.folder / "no-rabbitmq-env.conf"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "enabled_plugins"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 2:2 +A 16 -kernel inet_dist_use_interface {127,0,0,1}",
            # A mapper shared with another node would have to outlive this one, or fall with it.
            "ERL_EPMD_PORT": str(self._mapper_port),
            "ERL_EPMD_ADDRESS": HOST,
        }

    def _greets(self, connection: socket.socket) -> bool:
        connection.sendall(PROTOCOL_HEADER)
        return connection.recv(64).startswith(START_FRAME)


def _definitions(virtual_hosts: Sequence[str]) -> str:
    """Define the user as well, and the default host: a server that loads definitions makes neither by itself."""
    hosts = (DEFAULT, *virtual_hosts)
    everything = {"user": "guest", "configure": ".*", "write": ".*", "read": ".*"}
    return json.dumps(
        {
            "users": [{"name": "guest", "password": "guest", "tags": "administrator"}],
            "vhosts": [{"name": host} for host in hosts],
            "permissions": [{**everything, "vhost": host} for host in hosts],
        }
    )
