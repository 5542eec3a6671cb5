"""Registers the admin pages of the parties and their messages."""

from messaging.admin import messages, parties

__all__ = ["messages", "parties"]
