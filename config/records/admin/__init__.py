"""Registers the admin pages of keys, registry changes, accounts and the schedule."""

from config.records.admin import accounts, changes, keys, schedule

__all__ = ["accounts", "changes", "keys", "schedule"]
