"""Say that roles are alive: the deadlines of events count only while all of them say so.

The Coordinator says it to itself as well, by the same way: what it keeps of that tells others that it hears.
"""

from processes.coordination.bus import Bus
from processes.coordination.messages import COORDINATOR, Message, Told
from processes.coordination.role import Role


def say_alive(bus: Bus, roles: list[Role]) -> bool:
    bus.send([(COORDINATOR, Message(Told.ALIVE, role=role.name)) for role in roles])
    return False
