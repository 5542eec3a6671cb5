"""Workflows of the demonstration: doors that are lost, a case that was taken back, an instance that cannot go on."""

from contextlib import suppress
from importlib import resources
from typing import Any
from uuid import UUID

from django.utils import timezone

from processes.workflows import examples
from processes.workflows.errors import DraftChanged
from processes.workflows.heads import Head
from processes.workflows.ids import public_task_id
from processes.workflows.models import WorkflowInstance, WorkflowRevision, WorkItem
from processes.workflows.services.batches.create import BatchRequest, create_batch
from processes.workflows.services.commands import command_instance
from processes.workflows.services.definitions.drafts import save_draft
from processes.workflows.services.definitions.publish import publish_definition
from processes.workflows.services.returns import return_instance
from processes.workflows.services.start import StartRequest, start_instance

ACTOR = "staff:demo-operator"
CASE, LOST = "sensor-installation", "demo-lost-door"
DRAFT = UUID("de300000-0000-4000-8000-000000000001")
"""Chosen once, so that a demonstration that is started again begins no second one."""


def quick_example() -> str:
    """Return the example of lost sensors under another key, with seconds for hours: its tasks come at once."""
    source = resources.files(examples).joinpath("lost_sensor.bpmn").read_text()
    for before, after in (
        ('id="lost-sensor" name="Lost sensor"', f'id="{LOST}" name="Lost door, quick report"'),
        ('bpmnElement="lost-sensor"', f'bpmnElement="{LOST}"'),
        ("PT1H", "PT5S"),
        ("PT4H", "PT20S"),
        ("An hour later", "Five seconds later"),
        ("Four hours later", "Twenty seconds later"),
        ("has been lost for an hour", "is lost"),
    ):
        source = source.replace(before, after)
    return source


def play() -> None:
    """Publish the example, begin to change it, and run it and a case to where people are asked."""
    source = quick_example()
    publish_definition(source=source.encode(), enterprise=None, actor=ACTOR, at=timezone.now())
    changed = source.replace("Twenty seconds later", "Half a minute later").replace("PT20S", "PT30S")
    # Tried beside it once: somebody may have promoted or discarded it since.
    if WorkflowRevision.objects.filter(definition=LOST).count() == 1:
        publish_definition(source=changed.encode(), enterprise=None, actor=ACTOR, at=timezone.now(), shadow=True)
    with suppress(DraftChanged):  # somebody has gone on drawing since the demonstration was started before
        save_draft(DRAFT, changed, version=0, origin=None, actor=ACTOR, at=timezone.now())
    take_a_case_back()
    start_without_its_sensor()
    try_out_a_batch()


def take_a_case_back() -> None:
    """Work on a case, return to an earlier version and go another way."""
    head = start_instance(StartRequest(CASE, record="Harbour Road 12"), actor=ACTOR, at=timezone.now())
    head = _finish(head, "survey", {"doors": 3, "notes": "Two of oak, one of steel"})
    surveyed = head.number
    head = _finish(head, "mount", {})
    return_instance(head.id, version=surveyed, reason="The wrong door", actor=ACTOR, at=timezone.now())


def try_out_a_batch() -> None:
    """Ask what it would mean to suspend every instance of the example: a dry run."""
    wanted = BatchRequest("suspend", wanted={"definition": LOST}, is_dry_run=True, ended_too=False)
    create_batch(wanted, WorkflowInstance.objects.filter(definition=LOST), actor=ACTOR)


def start_without_its_sensor() -> None:
    """Start an instance without the variable that its next step needs: an incident in a few seconds."""
    wanted = StartRequest(LOST, start="connection_lost", record="a door that nobody named")
    start_instance(wanted, actor=ACTOR, at=timezone.now())


def _finish(head: Head, element: str, variables: dict[str, Any]) -> Head:
    item = WorkItem.objects.get(instance=head.id, status=WorkItem.Status.OPEN, element__startswith=element)
    task = public_task_id(head.id, item.local, item.since)
    command = {"command": "complete_task", "task": task, "variables": variables}
    return command_instance(head.id, command, actor=ACTOR, at=timezone.now())
