"""Say that roles are alive: the deadlines of events count only while all of them say so."""

from processes.coordination.bus import Bus
from processes.coordination.messages import COORDINATOR, Message, Told
from processes.coordination.role import Role


def say_alive(bus: Bus, roles: list[Role]) -> bool:
    """Tell the Coordinator that these roles live; it need not be told of itself."""
    bus.send([(COORDINATOR, Message(Told.ALIVE, role=role.name)) for role in roles if role.queue != COORDINATOR])
    return False
