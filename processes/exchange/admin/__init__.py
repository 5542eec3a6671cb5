"""Registers the admin pages of exchange processes, and their part of the pages of messages."""

from processes.exchange.admin import message_stages, names, processes

__all__ = ["message_stages", "names", "processes"]
