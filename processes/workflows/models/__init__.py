from processes.workflows.models.batch import BatchItem, WorkflowBatch
from processes.workflows.models.definition import (
    EventElement,
    WorkflowDefinition,
    WorkflowRevision,
    WorkflowStartTimer,
)
from processes.workflows.models.draft import WorkflowDraft
from processes.workflows.models.effect import WorkflowEffect
from processes.workflows.models.event import PostponedEvent, ReceivedEvent
from processes.workflows.models.incident import WorkflowIncident
from processes.workflows.models.instance import WorkflowBody, WorkflowInstance, WorkflowVersion
from processes.workflows.models.open_work import (
    TaskCandidate,
    WorkflowSubscription,
    WorkflowTimer,
    WorkItem,
)
from processes.workflows.models.scenario import WorkflowScenarios
from processes.workflows.models.search_term import SearchTerm
from processes.workflows.models.shadow import (
    ShadowDifference,
    ShadowExample,
    ShadowInput,
    ShadowTwin,
    WorkflowShadow,
)
from processes.workflows.models.visits import StepVisits, VisitTotal

__all__ = [
    "BatchItem",
    "EventElement",
    "PostponedEvent",
    "ReceivedEvent",
    "SearchTerm",
    "ShadowDifference",
    "ShadowExample",
    "ShadowInput",
    "ShadowTwin",
    "StepVisits",
    "TaskCandidate",
    "VisitTotal",
    "WorkItem",
    "WorkflowBatch",
    "WorkflowBody",
    "WorkflowDefinition",
    "WorkflowDraft",
    "WorkflowEffect",
    "WorkflowIncident",
    "WorkflowInstance",
    "WorkflowRevision",
    "WorkflowScenarios",
    "WorkflowShadow",
    "WorkflowStartTimer",
    "WorkflowSubscription",
    "WorkflowTimer",
    "WorkflowVersion",
]
