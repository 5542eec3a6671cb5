"""The inbox of tasks, the page of one, and what a person does with it."""

from processes.workflows.admin.tasks.list import TaskAdmin

__all__ = ["TaskAdmin"]
