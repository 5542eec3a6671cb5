from processes.workflows.models.definition import (
    EventElement,
    WorkflowDefinition,
    WorkflowRevision,
    WorkflowStartTimer,
)
from processes.workflows.models.effect import WorkflowEffect
from processes.workflows.models.event import PostponedEvent, ReceivedEvent
from processes.workflows.models.incident import WorkflowIncident
from processes.workflows.models.instance import WorkflowBody, WorkflowInstance, WorkflowVersion
from processes.workflows.models.open_work import (
    WorkflowSubscription,
    WorkflowTimer,
    WorkItem,
)

__all__ = [
    "EventElement",
    "PostponedEvent",
    "ReceivedEvent",
    "WorkItem",
    "WorkflowBody",
    "WorkflowDefinition",
    "WorkflowEffect",
    "WorkflowIncident",
    "WorkflowInstance",
    "WorkflowRevision",
    "WorkflowStartTimer",
    "WorkflowSubscription",
    "WorkflowTimer",
    "WorkflowVersion",
]
