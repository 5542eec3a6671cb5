"""Registers the admin pages of sensors, clients and rejected signals."""

from sensors.admin import clients, rejected, sensors, subject_names

__all__ = ["clients", "rejected", "sensors", "subject_names"]
