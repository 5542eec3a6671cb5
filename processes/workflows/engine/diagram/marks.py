"""What an instance adds to the drawing of its definition."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Marks:
    """Where an instance stands. Ids that the file does not have are passed over."""

    active: Mapping[str, int] = field(default_factory=dict)
    """Tokens by element."""
    incidents: frozenset[str] = frozenset()
    done: frozenset[str] = frozenset()
    """Visited and left."""
    items: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Of a case: how many instances of a plan item are in which state."""


@dataclass(frozen=True, slots=True)
class MarkLabels:
    """What the marks are called, in the language of the reader."""

    tokens: str = "Tokens"
    incident: str = "Incident"
    done: str = "Done"
    states: Mapping[str, str] = field(default_factory=dict)
    """The states of plan items; one that is not here is called by its own name."""

    def say_state(self, state: str) -> str:
        return self.states.get(state, state)
