"""Registers the admin pages of exchange processes, and what they tell on the pages of messages."""

from processes.exchange.admin import journeys, names, processes

__all__ = ["journeys", "names", "processes"]
