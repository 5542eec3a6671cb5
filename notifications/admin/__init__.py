"""Register the admin pages of events, deliveries, alerts and sessions."""

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

__all__ = [
    "alerts",
    "deliveries",
    "events",
    "followers",
    "ladder",
    "names",
    "parked_messages",
    "sessions",
    "themes",
]
