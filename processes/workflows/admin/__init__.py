"""Registers the admin pages of workflows."""

from processes.workflows.admin import definitions, instances, names, tasks

__all__ = ["definitions", "instances", "names", "tasks"]
