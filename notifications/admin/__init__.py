"""Registers the admin pages of the spine."""

from notifications.admin import (
    alerts,
    deliveries,
    events,
    followers,
    incidents,
    ladder,
    names,
    parked,
    sessions,
    themes,
)

__all__ = [
    "alerts",
    "deliveries",
    "events",
    "followers",
    "incidents",
    "ladder",
    "names",
    "parked",
    "sessions",
    "themes",
]
