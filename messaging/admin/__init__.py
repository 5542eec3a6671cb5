"""Registers the admin pages of the parties and their messages."""

from messaging.admin import messages, names, parties

__all__ = ["messages", "names", "parties"]
