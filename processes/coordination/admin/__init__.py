"""Registers the admin pages of coordination, and what its subjects are called on the pages of notifications."""

from processes.coordination.admin import events, names

__all__ = ["events", "names"]
