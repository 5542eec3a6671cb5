"""Registers the admin pages of workflows."""

from processes.workflows.admin import definitions, instances, subject_names, tasks

__all__ = ["definitions", "instances", "subject_names", "tasks"]
