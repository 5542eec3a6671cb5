"""The systems that are simulated, by name."""

from tests.simulation.world import World
from tests.simulation.worlds.coordination import CoordinationWorld
from tests.simulation.worlds.deliveries import DeliveriesWorld
from tests.simulation.worlds.messages import MessagesWorld
from tests.simulation.worlds.relay import RelayWorld
from tests.simulation.worlds.sessions import SessionsWorld
from tests.simulation.worlds.signals import SignalsWorld
from tests.simulation.worlds.workflows import WorkflowsWorld

_ALL = (
    *(DeliveriesWorld, MessagesWorld, SessionsWorld, RelayWorld),
    *(WorkflowsWorld, SignalsWorld, CoordinationWorld),
)
WORLDS: dict[str, type[World]] = {world.name: world for world in _ALL}
