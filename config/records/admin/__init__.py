"""Registers the admin pages of keys, registry changes, the log, accounts and the schedule."""

from config.records.admin import accounts, changes, keys, log, schedule

__all__ = ["accounts", "changes", "keys", "log", "schedule"]
