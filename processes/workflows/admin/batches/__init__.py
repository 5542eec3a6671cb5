"""Batches: begun from the list of instances, shown with their progress, carried out and undone."""

from processes.workflows.admin.batches.page import BatchAdmin

__all__ = ["BatchAdmin"]
