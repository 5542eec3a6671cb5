"""What lies in a suspended item of a case, and so may not go on."""

from collections.abc import Mapping
from typing import Any

SUSPENDED = "suspended"
Records = Mapping[str, Mapping[str, Any]]


def is_suspended(items: Records, tokens: Records, scopes: Records, owner: str | None) -> bool:
    """Tell whether a token or an item is suspended, or lies in something that is."""
    while items and owner is not None:
        record = items.get(owner)
        if record is not None and record["state"] == SUSPENDED:
            return True
        owner = scopes[(record or tokens[owner])["scope"]]["token"]
    return False
