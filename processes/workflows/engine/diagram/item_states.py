"""The states of plan items: how each is shown, and which one of several."""

from collections.abc import Mapping
from types import MappingProxyType

from processes.workflows.engine.diagram.colours import (
    ACTIVE,
    BROKEN,
    FINISHED,
    GONE,
    OFFERED,
    PAUSED,
    PLAIN,
    ShapeStyle,
)

LOOKS: Mapping[str, ShapeStyle] = MappingProxyType(
    {
        "active": ACTIVE,
        "enabled": OFFERED,
        "suspended": PAUSED,
        "available": PLAIN,
        "disabled": GONE,
        "failed": BROKEN,
        "completed": FINISHED,
        "terminated": GONE,
        "closed": GONE,
    }
)
STATES = tuple(LOOKS)
"""The most alive first: of an item that repeats, that one is shown."""


def find_shown_state(counts: Mapping[str, int]) -> tuple[str, int] | None:
    """Choose the state that is shown of an item's instances, and how many are in it; None when there are none."""
    return next(((state, counts[state]) for state in STATES if counts.get(state, 0) > 0), None)
