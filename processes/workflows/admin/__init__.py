"""Registers the admin pages of workflows."""

from processes.workflows.admin import batches, definitions, drafts, instances, subject_names, tasks

__all__ = ["batches", "definitions", "drafts", "instances", "subject_names", "tasks"]
