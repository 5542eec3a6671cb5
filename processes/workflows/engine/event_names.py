"""Names of messages and signals, and the types of the events that can have them."""

CUSTOM_PREFIX = "custom."
"""The types of events that are not the product's own begin with it."""
LONGEST_TYPE = 80
LONGEST_NAME = LONGEST_TYPE - len(CUSTOM_PREFIX)
"""Of a message or signal that events can have."""


def can_be_event(name: str) -> bool:
    """Return whether an event can arrive under this name, by its whole type or by what follows the prefix."""
    return len(name if name.startswith(CUSTOM_PREFIX) else CUSTOM_PREFIX + name) <= LONGEST_TYPE
