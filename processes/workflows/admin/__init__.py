"""Registers the admin pages of workflows."""

from processes.workflows.admin import definitions, instances, tasks

__all__ = ["definitions", "instances", "tasks"]
