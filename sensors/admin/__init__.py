"""Registers the admin pages of sensors, clients and rejected signals."""

from sensors.admin import clients, names, rejected, sensors

__all__ = ["clients", "names", "rejected", "sensors"]
