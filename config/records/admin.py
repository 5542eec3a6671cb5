"""Registers the admin pages of keys, registry changes, the log, accounts and the schedule."""

from config.access.admin import accounts, keys
from config.admin_base import schedule
from config.audit.admin import changes, log

__all__ = ["accounts", "changes", "keys", "log", "schedule"]
