"""Instances, versions and tasks as the REST API answers them, and the messages of workflows in words."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from config.common.times import format_time
from processes.workflows.engine import difference, state_queries
from processes.workflows.engine.runner import InstanceState
from processes.workflows.heads import Head
from processes.workflows.ids import public_id, public_task_id
from processes.workflows.models import (
    BatchItem,
    TaskCandidate,
    WorkflowBatch,
    WorkflowIncident,
    WorkflowInstance,
    WorkflowVersion,
    WorkItem,
)
from processes.workflows.selectors import LoadedVersion, find_open_incidents, load_heads, load_versions
from processes.workflows.services.definitions.library import library_for
from processes.workflows.services.work_items import FetchedTask
from processes.workflows.state_storage import LazyVariables

NOTHING: InstanceState = {}
EVENT_TITLES: dict[str, Promise] = {
    "workflow.message": _("Message from a workflow"),
    "task.assigned": _("Task assigned"),
    "task.overdue": _("Task overdue"),
}


def present_instance(head: Head) -> dict[str, Any]:
    incidents = find_open_incidents([head.id]) if head.open_incidents else {}
    return _present_head(head, incidents.get(head.id, []))


def present_instances(instances: Sequence[WorkflowInstance]) -> Iterator[dict[str, Any] | None]:
    """Yield the answer for each instance; None for one that retention has deleted since it was found."""
    incidents = find_open_incidents(each.pk for each in instances if each.open_incidents)
    heads = load_heads(instances)
    head = next(heads, None)
    for each in instances:
        if head is None or head.id != each.pk:
            yield None
            continue
        yield _present_head(head, incidents.get(head.id, []))
        head = next(heads, None)


def present_versions(versions: Sequence[WorkflowVersion]) -> Iterable[dict[str, Any]]:
    return map(present_version, load_versions(versions))


def present_version(loaded: LoadedVersion) -> dict[str, Any]:
    version, state = loaded.version, loaded.state or NOTHING
    return {
        "number": version.number,
        "parent": version.parent,
        "cause": version.cause,
        "actor": version.actor,
        "at": format_time(version.at),
        "status": version.status,
        "variables": _present_variables(state_queries.get_variables(state)),
        "active": _present_active(state),
        "definition_revision": version.revision.number,
        "correlation_id": version.correlation_id,
        "decisions": state.get("decisions", []),
    }


def present_difference(before: LoadedVersion, after: LoadedVersion) -> dict[str, Any]:
    return {**difference.compare_states(before.state or NOTHING, after.state or NOTHING)}


def present_task(item: WorkItem) -> dict[str, Any]:
    """Return an open task as the list of all tasks shows it; its instance and candidates must be loaded with it."""
    candidates = list(item.candidates.all())
    return {
        "id": item.public_id,
        "element": item.element,
        "name": item.name,
        "kind": item.kind,
        "since": format_time(item.since),
        "instance": str(item.instance_id),
        "definition": item.instance.definition_id,
        "record": item.instance.record,
        "detail": item.detail,
        "assignee": item.assignee,
        "owner": item.owner,
        "candidate_users": [each.name for each in candidates if each.kind == TaskCandidate.Kind.USER],
        "candidate_groups": [each.name for each in candidates if each.kind == TaskCandidate.Kind.GROUP],
        "due_at": item.deadline and format_time(item.deadline),
        "follow_up_at": item.follow_up_at and format_time(item.follow_up_at),
        "priority": item.priority,
        "notes": item.notes.splitlines(),
    }


def present_fetched(task: FetchedTask) -> dict[str, Any]:
    item = task.item
    assert item.due_at is not None
    return {
        "id": item.public_id,
        "topic": item.topic,
        "element": item.element,
        "instance": str(item.instance_id),
        "definition": task.definition,
        "record": task.record,
        "variables": _present_variables(task.inputs),
        "worker": item.worker,
        "locked_until": format_time(item.due_at),
        "retries": item.retries,
        "error": item.last_error,
        "correlation_id": item.correlation_id,
    }


def present_batch(batch: WorkflowBatch) -> dict[str, Any]:
    return {
        "id": str(batch.pk),
        "operation": batch.operation,
        "parameters": msgspec.Raw(batch.parameters.encode()),
        "filter": msgspec.Raw(batch.wanted.encode()),
        "status": batch.status,
        "total": batch.total,
        "changed": batch.changed,
        "refused": batch.refused,
        "undone": batch.undone,
        "kept": batch.kept,
        "actor": batch.actor,
        "created_at": format_time(batch.created_at),
        "ended_at": None if batch.ended_at is None else format_time(batch.ended_at),
    }


def present_batch_item(item: BatchItem) -> dict[str, Any]:
    return {
        "instance": str(item.instance),
        "status": item.status,
        "reason": item.reason,
        "before": item.before,
        "after": item.after,
    }


def present_lock(item: WorkItem) -> dict[str, Any]:
    assert item.due_at is not None
    return {"id": item.public_id, "worker": item.worker, "locked_until": format_time(item.due_at)}


def _present_head(head: Head, incidents: Sequence[WorkflowIncident]) -> dict[str, Any]:
    state = head.state or NOTHING
    return {
        "id": str(head.id),
        "definition": head.definition,
        "revision": head.revision,
        "record": head.record,
        "status": head.status,
        "version": head.number,
        "variables": _present_variables(state_queries.get_variables(state)),
        "active": _present_active(state),
        "tasks": [
            {
                "id": public_task_id(head.id, task["id"], datetime.fromisoformat(task["since"])),
                "element": task["element"],
                "name": task["name"],
                "kind": task["kind"],
            }
            for task in state_queries.list_tasks(state)
        ],
        "timers": [
            {
                "id": public_id(head.id, timer["id"]),
                "element": timer["element"],
                "kind": timer["kind"],
                "due_at": _format_text_time(timer["due"]),
            }
            for timer in state_queries.list_timers(state)
        ],
        "items": [{**item, "id": public_id(head.id, item["id"])} for item in state_queries.list_items(state)],
        "incidents": [_present_incident(incident) for incident in incidents],
    }


def _present_variables(variables: dict[str, Any]) -> dict[str, Any] | msgspec.Raw:
    """Encode large variables without decoding them."""
    return msgspec.Raw(msgspec.json.encode(variables)) if isinstance(variables, LazyVariables) else variables


def _present_active(state: InstanceState) -> list[dict[str, Any]]:
    # A state names its definitions by revision, and those are found whoever they belong to.
    return [
        {**each, "since": _format_text_time(each["since"])}
        for each in state_queries.list_active_elements(state, library_for(None))
    ]


def _present_incident(incident: WorkflowIncident) -> dict[str, Any]:
    return {
        "id": incident.pk,
        "element": incident.element,
        "command": incident.command["command"],
        "reason": incident.reason,
        "at": format_time(incident.opened_at),
        "times": incident.times,
    }


def _format_text_time(text: str) -> str:
    return format_time(datetime.fromisoformat(text))
