"""Registers the admin pages of the spine."""

from notifications.admin import events, followers, incidents

__all__ = ["events", "followers", "incidents"]
