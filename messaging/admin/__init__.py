"""Registers the admin pages of the parties and their messages."""

from messaging.admin import messages

__all__ = ["messages"]
