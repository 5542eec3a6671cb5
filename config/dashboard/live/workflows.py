"""The workflows of the live page: what is active, what waits, and the newest instances."""

from typing import Any

from django.urls import reverse

from config.common.database.row_lists import Lists, Questions, Row
from processes.workflows.models import WorkflowInstance
from processes.workflows.subjects import say_record

MOST_INSTANCES = 6


def ask_workflows() -> Questions:
    """Return the query for the newest instances."""
    names = ("id", "definition__name", "definition_id", "record", "status", "head", "started_at", "ended_at")
    return {"instances": WorkflowInstance.objects.order_by("-id").values(*names)[:MOST_INSTANCES]}


def read_workflows(counts: dict[str, int], lists: Lists) -> dict[str, Any]:
    """Return the part `workflows`; started and ended are those of the last minute."""
    return {
        "active": counts["active"],
        "tasks": counts["tasks"],
        "timers_due": counts["timers_due"],
        "timers": counts["timers"],
        "incidents": counts["workflow_incidents"],
        "started": counts["started"],
        "ended": counts["ended"],
        "instances": [_instance(row) for row in lists["instances"]],
    }


def _instance(row: Row) -> dict[str, Any]:
    return {
        "key": str(row["id"]),
        "name": row["definition__name"] or row["definition_id"],
        "record": say_record(row["record"]),
        "status": row["status"],
        "version": row["head"],
        "at": row["ended_at"] or row["started_at"],
        "page": reverse("admin:workflows_workflowinstance_change", args=[row["id"]]),
    }
