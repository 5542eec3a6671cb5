from processes.workflows.models.definition import (
    EventElement,
    WorkflowDefinition,
    WorkflowRevision,
    WorkflowStartTimer,
)
from processes.workflows.models.effect import ReceivedEvent, WorkflowEffect
from processes.workflows.models.incident import WorkflowIncident
from processes.workflows.models.instance import WorkflowBody, WorkflowInstance, WorkflowVersion
from processes.workflows.models.open_work import (
    PostponedEvent,
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
