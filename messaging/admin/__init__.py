"""Registers the admin pages of the parties and their messages."""

from messaging.admin import messages, parties, subject_names

__all__ = ["messages", "parties", "subject_names"]
