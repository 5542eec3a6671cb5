"""Registers the admin pages of sensors, clients and rejected signals."""

from sensors.admin import clients, rejected, sensors

__all__ = ["clients", "rejected", "sensors"]
