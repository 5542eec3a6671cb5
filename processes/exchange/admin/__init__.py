"""Registers the admin pages of exchange processes, and what they tell on the pages of messages."""

from processes.exchange.admin import journeys, processes

__all__ = ["journeys", "processes"]
