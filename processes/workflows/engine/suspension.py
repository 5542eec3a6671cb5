"""Suspension by the plan items around something: what lies in a suspended item does not run."""

from collections.abc import Mapping
from typing import Any

SUSPENDED = "suspended"
Records = Mapping[str, Mapping[str, Any]]


def is_suspended(items: Records, tokens: Records, scopes: Records, owner: str | None) -> bool:
    """Return whether a token or an item is suspended, or lies in an item that is."""
    # A process without cases has no items, and nothing in it is suspended alone.
    while items and owner is not None:
        record = items.get(owner)
        if record is not None and record["state"] == SUSPENDED:
            return True
        owner = scopes[(record or tokens[owner])["scope"]]["token"]
    return False
