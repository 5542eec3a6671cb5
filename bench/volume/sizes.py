from dataclasses import dataclass, fields
from typing import Self


@dataclass(frozen=True)
class Sizes:
    """How many rows there are of what grows; what belongs to them follows."""

    sensors: int = 1_000_000
    events: int = 5_000_000
    deliveries: int = 1_000_000
    messages: int = 200_000
    instances: int = 100_000
    clients: int = 2_000
    devices: int = 2_000
    change_sets: int = 50_000
    sessions: int = 50_000
    log: int = 500_000
    records: int = 500_000
    """Registry changes."""
    few: int = 2_000
    """Of what people settle: alerts, incidents, parked messages, keys."""

    @classmethod
    def all_of(cls, count: int) -> Self:
        """Return a database with so many rows of everything."""
        return cls(**{field.name: count for field in fields(cls)})

    def scaled(self, share: float) -> Self:
        """Return the same in small, with at least ten of each."""
        return type(self)(**{field.name: max(10, int(getattr(self, field.name) * share)) for field in fields(self)})
