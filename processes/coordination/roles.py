"""The participants by their names: `writer`, `coordinator`, `reader/<name>`."""

from collections.abc import Sequence

from processes.coordination.bus import Bus, open_bus
from processes.coordination.coordinator.role import Coordinator
from processes.coordination.protocol.messages import COORDINATOR, Message, MessageType
from processes.coordination.protocol.role import Role
from processes.coordination.reader.role import Reader
from processes.coordination.schema.routing import reader_names
from processes.coordination.writer.role import Writer


def role_names() -> list[str]:
    return ["writer", "coordinator", *(f"reader/{name}" for name in reader_names())]


def open_roles(names: Sequence[str]) -> list[Role]:
    """Return the roles of these names, each with a connection of its own to the queues."""
    return [_open(name) for name in names]


def _open(name: str) -> Role:
    if name == "writer":
        return Writer(open_bus())
    if name == "coordinator":
        return Coordinator(open_bus())
    return Reader(open_bus(), name.removeprefix("reader/"))


def send_heartbeats(bus: Bus, roles: Sequence[Role]) -> bool:
    """Send a heartbeat of each role: the deadlines of events count only while all roles send them.

    The Coordinator sends its own through the queue as well: what it records of that shows that it receives.
    """
    bus.send([(COORDINATOR, Message(MessageType.ALIVE, role=role.name)) for role in roles])
    return False
