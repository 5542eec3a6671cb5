"""Registers the admin pages of the spine."""

from notifications.admin import (
    alerts,
    deliveries,
    events,
    followers,
    ladder,
    names,
    parked_messages,
    sessions,
    themes,
)
from notifications.admin import (
    followers as incidents,
)

__all__ = [
    "alerts",
    "deliveries",
    "events",
    "followers",
    "incidents",
    "ladder",
    "names",
    "parked_messages",
    "sessions",
    "themes",
]
