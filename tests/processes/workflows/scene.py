"""Definitions, instances, and what is done to them, in few words."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.utils import timezone

from processes.workflows.heads import Head, get_head
from processes.workflows.ids import public_task_id
from processes.workflows.models import WorkflowTimer, WorkflowVersion, WorkItem
from processes.workflows.services.commands import command_instance
from processes.workflows.services.definitions.publish import Published, publish_definition
from processes.workflows.services.start import StartRequest, start_instance
from processes.workflows.services.timers import fire_due_timers
from processes.workflows.state_storage import section

ACTOR = "tester"


class Scene:
    def publish(self, source: bytes, enterprise: str | None = None) -> Published:
        return publish_definition(source=source, enterprise=enterprise, actor=ACTOR, at=timezone.now())

    def start(self, key: str, *, record: str = "", **variables: Any) -> Head:
        return start_instance(StartRequest(key, record=record, variables=variables), actor=ACTOR, at=timezone.now())

    def begin(self, source: bytes, *, record: str = "", enterprise: str | None = None, **variables: Any) -> Head:
        """Publish and start."""
        return self.start(self.publish(source, enterprise).key, record=record, **variables)

    def command(self, head: Head | UUID, command: str, *, expected_version: int | None = None, **fields: Any) -> Head:
        instance_id = head if isinstance(head, UUID) else head.id
        body = {"command": command, **fields}
        return command_instance(instance_id, body, actor=ACTOR, at=timezone.now(), expected_version=expected_version)

    def complete(self, head: Head, element: str = "", **variables: Any) -> Head:
        """Complete the open task of an element, or the only one."""
        return self.command(head, "complete_task", task=self.task(head, element), variables=variables)

    def task(self, head: Head, element: str = "") -> str:
        tasks = section(get_head(head.id).state or {}, "tasks")
        ((local, since),) = [
            (local, task["since"]) for local, task in tasks.items() if element in ("", task["element"])
        ]
        return public_task_id(head.id, local, datetime.fromisoformat(since))

    def head(self, head: Head) -> Head:
        return get_head(head.id)

    def waits_at(self, head: Head) -> list[str]:
        tokens = section(get_head(head.id).state or {}, "tokens")
        return sorted(token["element"] for token in tokens.values())

    def chain(self, head: Head) -> list[tuple[int, int | None, str]]:
        versions = WorkflowVersion.objects.filter(instance=head.id).order_by("number")
        return list(versions.values_list("number", "parent", "cause"))

    def items(self, head: Head) -> list[tuple[str, str]]:
        return list(WorkItem.objects.filter(instance=head.id).order_by("pk").values_list("element", "status"))

    def pass_time(self, head: Head, **ago: float) -> None:
        """Let the timers of an instance be due by so much, and fire them."""
        WorkflowTimer.objects.filter(instance=head.id).update(due_at=timezone.now() - timedelta(**ago))
        fire_due_timers()
