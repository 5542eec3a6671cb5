"""What stands still in a state: all of it while the instance is suspended, else what lies in a suspended item."""

from collections.abc import Mapping
from typing import Any

SUSPENDED = "suspended"


def is_held(state: Mapping[str, Any]) -> bool:
    """Tell whether nothing may happen by itself in the whole instance."""
    return state.get("status") == SUSPENDED


def suspended_items(state: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(key for key, item in (state.get("items") or {}).items() if item["state"] == SUSPENDED)


def is_still(state: Mapping[str, Any], owner: str | None) -> bool:
    """Tell whether what belongs to a token or an item may not go on."""
    if is_held(state):
        return True
    items = state.get("items")
    while items and owner is not None:
        record = items.get(owner)
        if record is not None and record["state"] == SUSPENDED:
            return True
        scope = (record or state["tokens"][owner])["scope"]
        owner = state["scopes"][scope]["token"]
    return False
