"""The systems that are simulated, by name."""

from tests.simulation.world import World
from tests.simulation.worlds.deliveries import DeliveriesWorld
from tests.simulation.worlds.messages import MessagesWorld

WORLDS: dict[str, type[World]] = {world.name: world for world in (DeliveriesWorld, MessagesWorld)}
