"""What stands still in a state: all of it while the instance is suspended, else what lies in a suspended item."""

from collections.abc import Mapping
from typing import Any

from processes.workflows.engine.suspension import SUSPENDED, is_suspended


def is_instance_suspended(state: Mapping[str, Any]) -> bool:
    """Tell whether nothing may happen by itself in the whole instance."""
    return state.get("status") == SUSPENDED


def find_suspended_items(state: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(key for key, item in (state.get("items") or {}).items() if item["state"] == SUSPENDED)


def is_owner_suspended(state: Mapping[str, Any], owner: str | None) -> bool:
    """Tell whether what belongs to a token or an item may not go on."""
    if is_instance_suspended(state):
        return True
    return is_suspended(state.get("items", {}), state.get("tokens", {}), state.get("scopes", {}), owner)
